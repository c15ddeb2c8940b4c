//! A bus with its log, one isolate with its streams, and the connection between them, on a virtual
//! clock.

use std::collections::VecDeque;

use mcp_listen::{
    bus::{Bus, EdgeId, Received},
    clock::Millis,
    event::ServerEvent,
    fanout::{StreamId, WriteBatch},
    filter::SubscriptionFilter,
    isolate::{Isolate, IsolateOutput},
    listen::ServerStream,
    message,
    upstream::{Timeouts, UpstreamCall},
};

use crate::follow::{Publish as _, Receivers as _};
use crate::{
    any::{id, is_of_same_key},
    follow,
    world::cursor,
};

use super::stream::Stream;

pub(super) struct World {
    pub(super) isolate: Isolate,
    pub(super) bus: Bus,
    pub(super) now: Millis,
    /// Frames in flight to the bus, and from it.
    pub(super) up: VecDeque<String>,
    pub(super) down: VecDeque<String>,
    pub(super) streams: Vec<Stream>,
    /// Whether connections can be opened.
    pub(super) is_shut: bool,
    pub(super) random: f64,
    /// The calls of the isolate.
    pub(super) calls: Vec<UpstreamCall>,
    log: Vec<ServerEvent>,
    epochs: u32,
    socket: Option<EdgeId>,
    /// The number of writes to streams.
    given: usize,
    /// Another edge, which takes up room.
    pub(super) other: Option<EdgeId>,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            isolate: Isolate::new(Timeouts::default(), Millis(0)),
            bus: Bus::new(cursor(0, 0)),
            now: Millis(0),
            up: VecDeque::new(),
            down: VecDeque::new(),
            streams: Vec::new(),
            is_shut: false,
            random: 0.5,
            calls: Vec::new(),
            log: Vec::new(),
            epochs: 0,
            socket: None,
            given: 0,
            other: None,
        }
    }

    /// Limits the names at the bus.
    pub(super) fn bound(&mut self, max_bytes: usize, edges: usize) {
        self.bus = Bus::new(cursor(0, 0));
        self.bus.set_room(max_bytes, edges);
    }

    /// Opens one more stream, and returns its index.
    pub(super) fn open(&mut self, filter: SubscriptionFilter) -> usize {
        let stream = ServerStream::new(id("1"), filter.clone(), Millis(0), self.now);
        let id = self.isolate.open(stream, self.now);
        self.streams.push(Stream::new(id, filter));
        self.streams.len() - 1
    }

    /// The client of a stream leaves.
    pub(super) fn leave(&mut self, stream: usize) {
        let Some(stream) = self.streams.get_mut(stream) else {
            return;
        };
        stream.has_ended = true;
        if let Some(id) = stream.id.take() {
            self.isolate.remove(id);
        }
    }

    /// Closes a stream gracefully, which cues what may have been missed.
    pub(super) fn close(&mut self, stream: usize) {
        if let Some(id) = self.streams[stream].id {
            self.isolate.close(id, false);
        }
        self.write();
    }

    pub(super) fn publish(&mut self, event: &ServerEvent) {
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
        let publication = self.bus.publish(event);
        self.log.push(event.clone());
        let frame = self.socket.and_then(|edge| publication.message_for(edge));
        self.down.extend(frame.map(str::to_owned));
    }

    /// Carries out the calls of the isolate, and delivers nothing.
    pub(super) fn carry_out(&mut self) {
        self.deliver();
        while let Some(call) = self.isolate.poll_call(self.now) {
            self.calls.push(call.clone());
            assert!(self.calls.len() < 100_000, "it calls without end");
            match call {
                UpstreamCall::Leave => self.hang_up(),
                UpstreamCall::Attach(text) => self.connect(text),
                UpstreamCall::Send(text) => self.up.push_back(text),
            }
            self.deliver();
        }
        self.write();
    }

    /// Delivers the next frame to the bus.
    pub(super) fn take_up(&mut self) {
        let (Some(text), Some(edge)) = (self.up.pop_front(), self.socket) else {
            return;
        };
        match self.bus.handle_message(edge, &text) {
            Ok(Received::Followed(reply)) => {
                let frames = follow::answers(&mut self.bus, *reply, &self.log);
                self.down.extend(frames);
            }
            // The bus closes the connection.
            Ok(Received::Full) => self.fill(),
            Ok(Received::Detached) | Err(_) => {}
        }
    }

    /// Delivers the next frame, sometimes with those after it.
    pub(super) fn take_down(&mut self) {
        let together = 1 + self.given % 4;
        for frame in self.down.drain(..together.min(self.down.len())) {
            // Dropped frames return an error; the isolate continues.
            self.isolate.handle_message(&frame, self.now).ok();
        }
        self.deliver();
    }

    /// Delivers and writes everything possible, without advancing the time.
    pub(super) fn settle(&mut self) {
        loop {
            self.carry_out();
            if !self.up.is_empty() {
                self.take_up();
            } else if !self.down.is_empty() {
                self.take_down();
            } else {
                return;
            }
        }
    }

    /// Advances the time from one deadline to the next, and settles at each.
    pub(super) fn pass(&mut self, span: u64) {
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
    pub(super) fn cut(&mut self) {
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
    pub(super) fn send_on(&mut self) {
        self.hang_up();
        self.isolate.handle_redirected(self.now, self.random);
        self.deliver();
    }

    /// The connection ends with the request that owned it.
    pub(super) fn move_on(&mut self) {
        self.hang_up();
        self.isolate.handle_moved(self.now);
    }

    /// The bus starts with an empty disk.
    pub(super) fn start_over(&mut self) {
        self.cut();
        self.epochs += 1;
        self.log.clear();
        self.bus = Bus::new(cursor(self.epochs, 0));
    }

    pub(super) fn is_connected(&self) -> bool {
        self.socket.is_some()
    }

    /// The numbers of full follows and of changes that the isolate sent.
    pub(super) fn sent(&self) -> (usize, usize) {
        let follows = self.calls.iter().filter_map(|call| match call {
            UpstreamCall::Leave => None,
            UpstreamCall::Attach(text) | UpstreamCall::Send(text) => Some(text),
        });
        let all = follows.clone().count();
        let fresh = follows
            .filter(|text| text.contains("\"fresh\":true"))
            .count();
        (fresh, all - fresh)
    }

    fn deadline(&self) -> Option<Millis> {
        let streams = self.isolate.streams().poll_timeout();
        streams.into_iter().chain(self.isolate.poll_timeout()).min()
    }

    fn connect(&mut self, text: String) {
        self.hang_up();
        if self.is_shut {
            self.isolate.handle_lost(self.now, self.random, false);
        } else {
            self.socket = Some(self.bus.connect());
            self.up.push_back(text);
        }
    }

    fn hang_up(&mut self) {
        if let Some(edge) = self.socket.take() {
            self.bus.disconnect(edge);
        }
        self.up.clear();
        self.down.clear();
    }

    /// Passes the pending outputs to the streams.
    pub(super) fn deliver(&mut self) {
        while let Some(output) = self.isolate.poll_output(self.now) {
            self.given += 1;
            match output {
                IsolateOutput::Write(batch) => self.give(&batch),
                IsolateOutput::Poll(_) => {}
                IsolateOutput::Refused { id, .. } => {
                    self.isolate.remove(id);
                    self.lose(id);
                }
                IsolateOutput::Moved(moved) => self.lose(moved.id),
            }
        }
        self.write();
    }

    /// Streams have room in turns.
    fn give(&mut self, batch: &WriteBatch) {
        let mut missed = Vec::new();
        for (id, chunk) in &batch.writes {
            let place = self.place_of(*id);
            if (place + self.given).is_multiple_of(3) {
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

    fn write(&mut self) {
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
