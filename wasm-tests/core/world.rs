//! A bus with its log, one edge, and the connection between them, on a virtual clock.

use std::collections::{BTreeMap, VecDeque};

use mcp_listen::{
    bus::{Bus, EdgeId},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::{EndReason, ServerStream, StreamKind},
    message,
    position::{Cursor, Position},
    upstream::{BusCall, ResumePoint, Timeouts},
    uri::Uri,
    wire::SessionInterest,
};

use crate::alone::{Alone, Frame};
use crate::any::{id, is_of_same_key};
use crate::follow;
use crate::follow::{Publish as _, Receivers as _};

/// How the bus answers an attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    Open,
    /// Connections cannot be opened.
    Down,
    /// Connections cannot be opened, and the bus reports that it is overloaded.
    Overloaded,
    /// Connections are opened, and nothing is ever sent.
    Silent,
}

pub(crate) struct World {
    pub(crate) edge: Alone,
    pub(crate) bus: Bus,
    pub(crate) now: Millis,
    pub(crate) availability: Availability,
    /// Frames in flight to the edge.
    pub(crate) wire: VecDeque<String>,
    pub(crate) random: f64,
    /// The calls of the edge, with their times.
    pub(crate) calls: Vec<(Millis, BusCall)>,
    /// The cues of published events that the stream has yet to write.
    pub(crate) expected: BTreeMap<String, ServerEvent>,
    /// What the stream wrote after its acknowledgment.
    pub(crate) written: Vec<String>,
    pub(crate) has_ended: bool,
    log: Vec<ServerEvent>,
    epochs: u32,
    window: u64,
    socket: Option<EdgeId>,
    /// The subscriptions of the session of the edge; `None` without a session.
    interest: Option<Vec<Uri>>,
    /// When and why its host ends it, whether or not the bus has answered by then.
    ends_by: Option<(Millis, EndReason)>,
}

pub(crate) fn cursor(epoch: u32, position: u64) -> Cursor {
    Cursor {
        epoch: format!("e{epoch}").into(),
        position: Position(position),
    }
}

impl World {
    /// An edge that is attached and acknowledged.
    pub(crate) fn new(filter: SubscriptionFilter, timeouts: Timeouts) -> Self {
        let stream = ServerStream::new(id("1"), filter, Millis(0), Millis(0));
        Self::of(Alone::new(stream), None, timeouts)
    }

    /// The stream of a session without subscriptions.
    pub(crate) fn of_session(filter: SubscriptionFilter) -> Self {
        let stream = ServerStream::with_kind(StreamKind::Session, filter, Millis(0), Millis(0));
        let edge = Alone::of_session(stream, ResumePoint::None, Vec::new());
        Self::of(edge, Some(Vec::new()), Timeouts::default())
    }

    fn of(mut edge: Alone, interest: Option<Vec<Uri>>, timeouts: Timeouts) -> Self {
        edge.set_timeouts(timeouts);
        let mut world = Self {
            edge,
            bus: Bus::new(cursor(0, 0)),
            now: Millis(0),
            availability: Availability::Open,
            wire: VecDeque::new(),
            random: 0.5,
            calls: Vec::new(),
            expected: BTreeMap::new(),
            written: Vec::new(),
            has_ended: false,
            log: Vec::new(),
            epochs: 0,
            window: 1_000,
            socket: None,
            interest,
            ends_by: None,
        };
        world.carry_out();
        world.calls.clear();
        world.settle();
        world.written.clear();
        assert!(world.edge.stream().is_open());
        world
    }

    /// Ends the stream once the bus has confirmed that nothing published by now is missing, and at
    /// the latest after `span`.
    pub(crate) fn end_within(&mut self, span: Millis, why: EndReason) {
        self.ends_by = Some((self.now + span, why));
        self.edge.settle(self.now);
    }

    fn end_if_due(&mut self) {
        let (now, is_settled) = (self.now, self.edge.is_settled());
        match self.ends_by.take_if(|(at, _)| is_settled || *at <= now) {
            Some((_, EndReason::Closed)) if is_settled => self.edge.close_settled(),
            Some((_, EndReason::Closed)) => self.edge.close(),
            Some((_, why)) => self.edge.retire(why),
            None => {}
        }
    }

    pub(crate) fn with_window(mut self, window: u64) -> Self {
        self.window = window;
        self
    }

    /// The stream has to cue this event from now on, if its filter accepts it.
    pub(crate) fn publish(&mut self, event: &ServerEvent) {
        if self.edge.stream().honored().accepts(event) {
            let cue = message::notification(&id("1"), event);
            self.expected
                .retain(|_, expected| !is_of_same_key(expected, event));
            self.expected.insert(cue, event.clone());
        }
        let publication = self.bus.publish(event);
        self.log.push(event.clone());
        let floor = publication.position.0.saturating_sub(self.window);
        self.bus.handle_trimmed(Position(floor));
        let frame = self.socket.and_then(|edge| publication.message_for(edge));
        self.wire.extend(frame.map(str::to_owned));
    }

    /// Delivers and writes everything possible, without advancing the time.
    pub(crate) fn settle(&mut self) {
        loop {
            self.carry_out();
            let Some(frame) = self.wire.pop_front() else {
                break;
            };
            // Dropped frames return an error; the stream continues.
            self.edge.handle_bus_message(&frame, self.now).ok();
        }
        self.end_if_due();
        self.write();
    }

    /// Advances the time from one deadline to the next, and settles at each.
    pub(crate) fn pass(&mut self, span: u64) {
        let end = self.now + Millis(span);
        self.settle();
        while let Some(at) = self.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.edge.handle_timeout(self.now, self.random);
            self.settle();
        }
        self.now = end;
    }

    fn next_deadline(&self) -> Option<Millis> {
        let end = self.ends_by.map(|(at, _)| at);
        [self.edge.poll_timeout(), end].into_iter().flatten().min()
    }

    /// Breaks the connection, as a reset of the bus does; frames in flight are lost.
    pub(crate) fn cut(&mut self) {
        self.hang_up();
        self.lose(false);
    }

    /// The bus starts with an empty disk.
    pub(crate) fn start_over(&mut self) {
        self.cut();
        self.epochs += 1;
        self.log.clear();
        self.bus = Bus::new(cursor(self.epochs, 0));
    }

    /// Whether the bus holds a connection of this edge.
    pub(crate) fn is_connected(&self) -> bool {
        self.socket.is_some()
    }

    /// The session of the edge is subscribed to these URIs from now on.
    pub(crate) fn watch(&mut self, uris: Vec<Uri>) {
        self.interest = Some(uris);
        self.follow_session();
    }

    fn follow_session(&mut self) {
        if let (Some(edge), Some(uris)) = (self.socket, self.interest.clone()) {
            let frame = self.bus.set_interest(edge, &uris, false).unwrap();
            self.wire.push_back(frame);
        }
    }

    /// Carries out the calls of the edge.
    pub(crate) fn carry_out(&mut self) {
        while let Some(call) = self.edge.poll_call(self.now) {
            self.calls.push((self.now, call));
            assert!(self.calls.len() < 100_000, "it calls without end");
            match call {
                BusCall::Leave => self.hang_up(),
                BusCall::Ask => self.say_attach(),
                BusCall::Attach => self.attach(),
            }
        }
    }

    fn attach(&mut self) {
        self.hang_up();
        match self.availability {
            Availability::Open | Availability::Silent => {
                self.socket = Some(self.bus.connect());
                self.say_attach();
            }
            Availability::Down => self.lose(false),
            Availability::Overloaded => self.lose(true),
        }
    }

    fn say_attach(&mut self) {
        if self.availability == Availability::Silent {
            return;
        }
        let edge = self.socket.unwrap();
        let text = self.edge.attach_message();
        let mut reply = follow::accepted(&mut self.bus, edge, &text);
        if let Some(uris) = self.interest.clone() {
            let interest = SessionInterest {
                session: reply.joined()[0].clone(),
                uris,
                is_paused: false,
            };
            reply.push_interest(&mut self.bus, interest);
        }
        let frames = follow::answers(&mut self.bus, reply, &self.log);
        self.wire.extend(frames);
    }

    fn lose(&mut self, is_overloaded: bool) {
        self.edge
            .handle_bus_lost(self.now, self.random, is_overloaded);
    }

    fn hang_up(&mut self) {
        if let Some(edge) = self.socket.take() {
            self.bus.disconnect(edge);
        }
        self.wire.clear();
    }

    fn write(&mut self) {
        while let Some(frame) = self.edge.poll_frame(self.now) {
            let Frame::Bytes(bytes) = frame else {
                self.has_ended = true;
                self.hang_up();
                continue;
            };
            let text = String::from_utf8(bytes).unwrap();
            let cue = text
                .strip_prefix("event: message\ndata: ")
                .map_or(text.as_str(), str::trim_end);
            self.expected.remove(cue);
            self.written.push(cue.to_owned());
        }
    }
}
