//! A bus with its log, one edge, and the connection between them, on a clock of its own.

use std::collections::{BTreeMap, VecDeque};

use mcp_listen::{
    bus::{Bus, EdgeId, Mark, Position},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::{Ending, ServerStream, Stamp},
    message,
    upstream::{BusCall, Past, Patience},
    uri::Uri,
    wire::Watched,
};

use crate::alone::{Alone, Frame};
use crate::any::{id, is_of_same_key};
use crate::follow;
use crate::follow::{Publish as _, Receivers as _};

/// How the bus answers an attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Open,
    /// Connections cannot be made.
    Shut,
    /// Neither can they, and the bus says that it is overloaded.
    Overloaded,
    /// Connections are made, and nothing is ever said.
    Silent,
}

pub(crate) struct World {
    pub(crate) edge: Alone,
    pub(crate) bus: Bus,
    pub(crate) now: Millis,
    pub(crate) door: Door,
    /// Frames on their way to the edge.
    pub(crate) wire: VecDeque<String>,
    pub(crate) random: f64,
    /// When the edge called for what.
    pub(crate) calls: Vec<(Millis, BusCall)>,
    /// The cues of published events that the stream has yet to write.
    pub(crate) owed: BTreeMap<String, ServerEvent>,
    /// What the stream wrote after its acknowledgment.
    pub(crate) written: Vec<String>,
    pub(crate) has_ended: bool,
    log: Vec<ServerEvent>,
    epochs: u32,
    window: u64,
    socket: Option<EdgeId>,
    /// What the session of the edge watches; none for an edge without one.
    watched: Option<Vec<Uri>>,
    /// When and why its host ends it, whether the bus has answered by then or not.
    ends_by: Option<(Millis, Ending)>,
}

pub(crate) fn mark(epoch: u32, position: u64) -> Mark {
    Mark {
        epoch: format!("e{epoch}").into(),
        position: Position(position),
    }
}

impl World {
    /// An edge that is attached, and acknowledged.
    pub(crate) fn new(filter: SubscriptionFilter, patience: Patience) -> Self {
        let stream = ServerStream::new(id("1"), filter, Millis(0), Millis(0));
        Self::of(Alone::new(stream), None, patience)
    }

    /// The stream of a session that watches nothing.
    pub(crate) fn of_session(filter: SubscriptionFilter) -> Self {
        let stream = ServerStream::with_stamp(Stamp::None, filter, Millis(0), Millis(0));
        let edge = Alone::of_session(stream, Past::None, Vec::new());
        Self::of(edge, Some(Vec::new()), Patience::default())
    }

    fn of(mut edge: Alone, watched: Option<Vec<Uri>>, patience: Patience) -> Self {
        edge.set_patience(patience);
        let mut world = Self {
            edge,
            bus: Bus::new(mark(0, 0)),
            now: Millis(0),
            door: Door::Open,
            wire: VecDeque::new(),
            random: 0.5,
            calls: Vec::new(),
            owed: BTreeMap::new(),
            written: Vec::new(),
            has_ended: false,
            log: Vec::new(),
            epochs: 0,
            window: 1_000,
            socket: None,
            watched,
            ends_by: None,
        };
        world.tend();
        world.calls.clear();
        world.settle();
        world.written.clear();
        assert!(world.edge.stream().is_open());
        world
    }

    /// Ends it once the bus has confirmed that nothing published by now is missing, and after
    /// `span` at the latest.
    pub(crate) fn end_within(&mut self, span: Millis, why: Ending) {
        self.ends_by = Some((self.now + span, why));
        self.edge.settle(self.now);
    }

    fn end_if_due(&mut self) {
        let (now, is_settled) = (self.now, self.edge.is_settled());
        match self.ends_by.take_if(|(at, _)| is_settled || *at <= now) {
            Some((_, Ending::Closed)) if is_settled => self.edge.close_settled(),
            Some((_, Ending::Closed)) => self.edge.close(),
            Some((_, why)) => self.edge.retire(why),
            None => {}
        }
    }

    pub(crate) fn with_window(mut self, window: u64) -> Self {
        self.window = window;
        self
    }

    /// The stream owes its client a cue from now on, if its filter takes the event in.
    pub(crate) fn publish(&mut self, event: &ServerEvent) {
        if self.edge.stream().honored().accepts(event) {
            let cue = message::notification(&id("1"), event);
            self.owed.retain(|_, owed| !is_of_same_key(owed, event));
            self.owed.insert(cue, event.clone());
        }
        let publication = self.bus.publish(event);
        self.log.push(event.clone());
        let floor = publication.position.0.saturating_sub(self.window);
        self.bus.handle_trimmed(Position(floor));
        let frame = self.socket.and_then(|edge| publication.message_for(edge));
        self.wire.extend(frame.map(str::to_owned));
    }

    /// Delivers and writes whatever can be, without time going on.
    pub(crate) fn settle(&mut self) {
        loop {
            self.tend();
            let Some(frame) = self.wire.pop_front() else {
                break;
            };
            // Frames that had to be dropped are told; the stream goes on.
            self.edge.handle_bus_message(&frame, self.now).ok();
        }
        self.end_if_due();
        self.write();
    }

    /// Lets time go on, from one deadline to the next, and settles at each.
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

    /// The connection breaks, as when the bus is reset; what was on its way is gone.
    pub(crate) fn cut(&mut self) {
        self.hang_up();
        self.lose(false);
    }

    /// The bus begins with an empty disk.
    pub(crate) fn begin_anew(&mut self) {
        self.cut();
        self.epochs += 1;
        self.log.clear();
        self.bus = Bus::new(mark(self.epochs, 0));
    }

    /// Whether the bus holds a connection of this edge.
    pub(crate) fn is_connected(&self) -> bool {
        self.socket.is_some()
    }

    /// The session of the edge watches these URIs from now on.
    pub(crate) fn watch(&mut self, uris: Vec<Uri>) {
        self.watched = Some(uris);
        self.follow_session();
    }

    fn follow_session(&mut self) {
        if let (Some(edge), Some(uris)) = (self.socket, self.watched.clone()) {
            let frame = self.bus.watch(edge, &uris, false).unwrap();
            self.wire.push_back(frame);
        }
    }

    /// Does what the edge calls for.
    pub(crate) fn tend(&mut self) {
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
        match self.door {
            Door::Open | Door::Silent => {
                self.socket = Some(self.bus.connect());
                self.say_attach();
            }
            Door::Shut => self.lose(false),
            Door::Overloaded => self.lose(true),
        }
    }

    fn say_attach(&mut self) {
        if self.door == Door::Silent {
            return;
        }
        let edge = self.socket.unwrap();
        let text = self.edge.attach_message();
        let mut reply = follow::taken(&mut self.bus, edge, &text);
        if let Some(uris) = self.watched.clone() {
            let watched = Watched {
                session: reply.joined()[0].clone(),
                uris,
                is_held: false,
            };
            reply.push_watch(&mut self.bus, watched);
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
            self.owed.remove(cue);
            self.written.push(cue.to_owned());
        }
    }
}
