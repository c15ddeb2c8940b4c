//! The root of a bus with its log, one isolate with its streams, and the connection between them,
//! on a virtual clock.

use std::collections::VecDeque;

use mcp_listen::{
    bus::EdgeId,
    clock::Millis,
    event::ServerEvent,
    fanout::{StreamId, WriteBatch},
    filter::SubscriptionFilter,
    isolate::{Isolate, IsolateOutput},
    listen::{EndReason, ServerStream},
    message,
    root::RootReceived,
    upstream::{Timeouts, UpstreamCall},
};

use crate::{
    any::{id, is_of_same_key},
    follow::{Publish as _, Receivers as _},
    log::{Log, Root},
};

use super::stream::Stream;

/// What the bus does with connections.
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
    pub(crate) isolate: Isolate,
    pub(crate) root: Root,
    pub(crate) log: Log,
    pub(crate) now: Millis,
    /// Frames in flight to the bus, and from it.
    pub(crate) up: VecDeque<String>,
    pub(crate) down: VecDeque<String>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) availability: Availability,
    pub(crate) random: f64,
    /// The calls of the isolate, with their times.
    pub(crate) calls: Vec<(Millis, UpstreamCall)>,
    socket: Option<EdgeId>,
    /// The number of outputs for streams.
    given: usize,
    /// Whether frames arrive one by one, and clients read once all of them have arrived. Otherwise
    /// several may arrive together, and clients read in turns.
    pub(super) is_stepwise: bool,
    /// When and why the only stream ends, whether or not the bus has replied by then.
    pub(super) ends_by: Option<(Millis, EndReason)>,
    /// Another edge, which takes up room.
    pub(crate) other: Option<EdgeId>,
}

impl World {
    pub(crate) fn new() -> Self {
        let log = Log::default();
        Self {
            isolate: Isolate::new(Timeouts::default(), Millis(0)),
            root: log.root(),
            log,
            now: Millis(0),
            up: VecDeque::new(),
            down: VecDeque::new(),
            streams: Vec::new(),
            availability: Availability::Open,
            random: 0.5,
            calls: Vec::new(),
            socket: None,
            given: 0,
            is_stepwise: false,
            ends_by: None,
            other: None,
        }
    }

    /// Opens one more stream, and returns its index.
    pub(crate) fn open(&mut self, filter: SubscriptionFilter) -> usize {
        let stream = ServerStream::new(id("1"), filter.clone(), Millis(0), self.now);
        let id = self.isolate.open(stream, self.now);
        self.streams.push(Stream::new(id, filter));
        self.streams.len() - 1
    }

    /// The client of a stream leaves.
    pub(crate) fn leave(&mut self, stream: usize) {
        let Some(stream) = self.streams.get_mut(stream) else {
            return;
        };
        stream.has_ended = true;
        if let Some(id) = stream.id.take() {
            self.isolate.remove(id);
        }
    }

    /// Closes a stream gracefully, which cues what may have been missed.
    pub(crate) fn close(&mut self, stream: usize) {
        if let Some(id) = self.streams[stream].id {
            self.isolate.close(id, false);
        }
        self.write();
    }

    pub(crate) fn publish(&mut self, event: &ServerEvent) {
        let cue = message::notification(&id("1"), event);
        for stream in &mut self.streams {
            let is_owed = stream.is_acknowledged() && !stream.has_ended;
            if is_owed && stream.filter.accepts(event) {
                stream
                    .expected
                    .retain(|_, expected| !is_of_same_key(expected, event));
                stream.expected.insert(cue.clone(), event.clone());
            }
        }
        self.log.push(event);
        let publication = self.root.bus_mut().publish(event);
        let frame = self.socket.and_then(|edge| publication.message_for(edge));
        self.down.extend(frame.map(str::to_owned));
    }

    /// Carries out the calls of the isolate, then passes its outputs to the streams, as hosts do.
    /// Delivers nothing.
    pub(crate) fn carry_out(&mut self) {
        loop {
            let has_called = self.call();
            let has_delivered = self.deliver();
            if !has_called && !has_delivered {
                break;
            }
        }
    }

    /// Carries out the calls of the isolate; returns whether there were any.
    fn call(&mut self) -> bool {
        let mut has_called = false;
        while let Some(call) = self.isolate.poll_call(self.now) {
            has_called = true;
            self.calls.push((self.now, call.clone()));
            assert!(self.calls.len() < 100_000, "it calls without end");
            match call {
                UpstreamCall::Leave => self.hang_up(),
                UpstreamCall::Attach(text) => self.connect(text),
                UpstreamCall::Send(text) => self.up.push_back(text),
                other => panic!("not known: {other:?}"),
            }
        }
        has_called
    }

    /// Delivers the next frame to the bus.
    pub(crate) fn take_up(&mut self) {
        let (Some(text), Some(edge)) = (self.up.pop_front(), self.socket) else {
            return;
        };
        if self.availability == Availability::Silent {
            return;
        }
        match self.root.handle_message(edge, &text, self.now).unwrap() {
            RootReceived::Followed { frames, .. } => self.down.extend(frames),
            // The bus closes the connection.
            RootReceived::Full => self.fill(),
            RootReceived::Detached | RootReceived::Dropped(_) => {}
            RootReceived::Released => panic!("its session is over"),
            other => panic!("not known: {other:?}"),
        }
    }

    /// Delivers the next frame, sometimes with those after it.
    pub(crate) fn take_down(&mut self) {
        let together = if self.is_stepwise {
            1
        } else {
            1 + self.given % 4
        };
        for frame in self.down.drain(..together.min(self.down.len())) {
            // Dropped frames return an error; the isolate continues.
            self.isolate.handle_message(&frame, self.now).ok();
        }
        self.carry_out();
    }

    /// Delivers and writes everything possible, without advancing the time.
    pub(crate) fn settle(&mut self) {
        loop {
            self.carry_out();
            if !self.up.is_empty() {
                self.take_up();
            } else if !self.down.is_empty() {
                self.take_down();
            } else {
                break;
            }
        }
        self.end_if_due();
        self.write();
        // An isolate whose last stream has ended closes its connection.
        self.carry_out();
    }

    /// Advances the time from one deadline to the next, and settles at each.
    pub(crate) fn pass(&mut self, span: u64) {
        let end = self.now + Millis(span);
        self.settle();
        while let Some(at) = self.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.isolate.handle_timeout(self.now, self.random);
            self.isolate.fanout().handle_timeout(self.now);
            self.settle();
        }
        self.now = end;
    }

    /// Breaks the connection, as a reset of the bus does; frames in flight are lost.
    pub(crate) fn cut(&mut self) {
        self.hang_up();
        self.isolate.handle_lost(self.now, self.random, false);
        self.deliver();
    }

    /// The bus has no room for the topics of the isolate.
    fn fill(&mut self) {
        self.hang_up();
        self.isolate.handle_full();
        self.isolate.handle_lost(self.now, self.random, true);
        self.deliver();
    }

    /// The bus closes the connection: a shard holds the streams from now on.
    pub(crate) fn send_on(&mut self) {
        self.hang_up();
        self.isolate.handle_redirected(self.now, self.random);
        self.deliver();
    }

    /// The connection ends with the request that owned it.
    pub(crate) fn move_on(&mut self) {
        self.hang_up();
        self.isolate.handle_moved(self.now);
    }

    /// The bus starts with an empty disk.
    pub(crate) fn start_over(&mut self) {
        self.cut();
        self.log = self.log.after_loss();
        self.root = self.log.root();
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.socket.is_some()
    }

    /// The numbers of full follows and of changes that the isolate sent.
    pub(crate) fn sent(&self) -> (usize, usize) {
        let follows = self.calls.iter().filter_map(|(_, call)| match call {
            UpstreamCall::Attach(text) | UpstreamCall::Send(text) => Some(text),
            _ => None,
        });
        let all = follows.clone().count();
        let fresh = follows
            .filter(|text| text.contains("\"fresh\":true"))
            .count();
        (fresh, all - fresh)
    }

    fn deadline(&self) -> Option<Millis> {
        let streams = self.isolate.streams().poll_timeout();
        let end = self.ends_by.map(|(at, _)| at);
        let all = [streams, self.isolate.poll_timeout(), end];
        all.into_iter().flatten().min()
    }

    fn connect(&mut self, text: String) {
        self.hang_up();
        match self.availability {
            Availability::Open | Availability::Silent => {
                self.socket = Some(self.root.bus_mut().connect());
                self.up.push_back(text);
            }
            Availability::Down => self.isolate.handle_lost(self.now, self.random, false),
            Availability::Overloaded => self.isolate.handle_lost(self.now, self.random, true),
        }
    }

    fn hang_up(&mut self) {
        if let Some(edge) = self.socket.take() {
            self.root.disconnect(edge, self.now).unwrap();
        }
        self.up.clear();
        self.down.clear();
    }

    /// Passes the pending outputs to the streams; returns whether there were any. A host removes
    /// refused streams in a later turn.
    pub(crate) fn deliver(&mut self) -> bool {
        let given = self.given;
        let mut refused = Vec::new();
        while let Some(output) = self.isolate.poll_output(self.now) {
            self.given += 1;
            match output {
                IsolateOutput::Write(batch) => self.give(&batch),
                IsolateOutput::Poll(_) => {}
                IsolateOutput::Refused { id, .. } => refused.push(id),
                IsolateOutput::Moved(moved) => self.lose(moved.id),
                other => panic!("not known: {other:?}"),
            }
        }
        for id in refused {
            self.isolate.remove(id);
            self.lose(id);
        }
        if !self.is_stepwise {
            self.write();
        }
        self.given > given
    }

    /// Streams have room in turns; stepwise, they have none until their clients read.
    fn give(&mut self, batch: &WriteBatch) {
        let mut missed = Vec::new();
        for (id, chunk) in &batch.writes {
            let place = self.place_of(*id);
            if self.is_stepwise || (place + self.given).is_multiple_of(3) {
                missed.push(*id);
            } else {
                self.streams[place].read(batch.chunk(*chunk));
            }
        }
        self.isolate.fanout().handle_missed(missed, self.now);
        self.isolate.fanout().take_due();
    }

    fn lose(&mut self, id: StreamId) {
        let place = self.place_of(id);
        let stream = &mut self.streams[place];
        stream.id = None;
        stream.has_ended = true;
    }

    fn place_of(&self, id: StreamId) -> usize {
        let mut streams = self.streams.iter();
        streams.position(|stream| stream.id == Some(id)).unwrap()
    }

    /// Clients read everything that their streams have for them.
    pub(super) fn write(&mut self) {
        for stream in &mut self.streams {
            let Some(id) = stream.id else { continue };
            while let Some(bytes) = self.isolate.fanout().poll(id, self.now) {
                stream.read(&bytes);
            }
            let held = self.isolate.stream(id);
            if held.is_some_and(ServerStream::is_ending) {
                stream.has_ended = true;
                stream.id = None;
                stream.ending = self.isolate.remove(id);
            }
        }
    }
}
