//! A bus with its log, one isolate with its streams, and the connection between them, on a clock of
//! its own.

use std::collections::VecDeque;

use mcp_listen::{
    bus::{Bus, EdgeId, Position, Received},
    clock::Millis,
    event::ServerEvent,
    fanout::{Fan, StreamId},
    filter::SubscriptionFilter,
    isolate::{Isolate, IsolateOutput},
    listen::ServerStream,
    message,
    upstream::{Patience, UpstreamCall},
};

use crate::follow::{Publish as _, Receivers as _};
use crate::{
    any::{id, is_of_same_key},
    follow,
    world::mark,
};

use super::stream::Stream;

pub(super) struct World {
    pub(super) isolate: Isolate,
    pub(super) bus: Bus,
    pub(super) now: Millis,
    /// Frames on their way to the bus, and from there.
    pub(super) up: VecDeque<String>,
    pub(super) down: VecDeque<String>,
    pub(super) streams: Vec<Stream>,
    /// Whether connections can be made.
    pub(super) is_shut: bool,
    pub(super) random: f64,
    /// What the isolate called for.
    pub(super) calls: Vec<UpstreamCall>,
    log: Vec<ServerEvent>,
    epochs: u32,
    window: u64,
    socket: Option<EdgeId>,
    /// How often anything was given to streams.
    given: usize,
    /// An edge of somebody else, which takes room.
    pub(super) other: Option<EdgeId>,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            isolate: Isolate::new(Patience::default(), Millis(0)),
            bus: Bus::new(mark(0, 0)),
            now: Millis(0),
            up: VecDeque::new(),
            down: VecDeque::new(),
            streams: Vec::new(),
            is_shut: false,
            random: 0.5,
            calls: Vec::new(),
            log: Vec::new(),
            epochs: 0,
            window: 1_000,
            socket: None,
            given: 0,
            other: None,
        }
    }

    pub(super) fn with_window(mut self, window: u64) -> Self {
        self.window = window;
        self
    }

    /// Bounds the names at the bus.
    pub(super) fn bound(&mut self, most: usize, edges: usize) {
        self.bus = Bus::new(mark(0, 0));
        self.bus.set_room(most, edges);
    }

    /// One more stream; the answer is its place among all.
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
        stream.has_left = true;
        if let Some(id) = stream.id.take() {
            self.isolate.remove(id);
        }
    }

    /// A stream is closed gracefully, which tells its client what may have been missed.
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
                stream.owed.retain(|_, owed| !is_of_same_key(owed, event));
                stream.owed.insert(cue.clone(), event.clone());
            }
        }
        let publication = self.bus.publish(event);
        self.log.push(event.clone());
        let floor = publication.position.0.saturating_sub(self.window);
        self.bus.handle_trimmed(Position(floor));
        let frame = self.socket.and_then(|edge| publication.message_for(edge));
        self.down.extend(frame.map(str::to_owned));
    }

    /// Does what the isolate wants done, and delivers nothing.
    pub(super) fn tend(&mut self) {
        self.tell();
        while let Some(call) = self.isolate.poll_call(self.now) {
            self.calls.push(call.clone());
            assert!(self.calls.len() < 100_000, "it calls without end");
            match call {
                UpstreamCall::Leave => self.hang_up(),
                UpstreamCall::Attach(text) => self.connect(text),
                UpstreamCall::Send(text) => self.up.push_back(text),
            }
            self.tell();
        }
        self.write();
    }

    /// The bus takes the next frame.
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

    /// It takes the next frame, and now and then some that come with it.
    pub(super) fn take_down(&mut self) {
        let together = 1 + self.given % 4;
        for frame in self.down.drain(..together.min(self.down.len())) {
            // Frames that had to be dropped are told; it goes on.
            self.isolate.handle_message(&frame, self.now).ok();
        }
        self.tell();
    }

    /// Delivers and writes whatever can be, without time going on.
    pub(super) fn settle(&mut self) {
        loop {
            self.tend();
            if !self.up.is_empty() {
                self.take_up();
            } else if !self.down.is_empty() {
                self.take_down();
            } else {
                return;
            }
        }
    }

    /// Lets time go on, from one deadline to the next, and settles at each.
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

    /// The connection breaks, as when the bus is reset; what was on its way is gone.
    pub(super) fn cut(&mut self) {
        self.hang_up();
        self.isolate.handle_lost(self.now, self.random, false);
        self.tell();
    }

    /// The bus has no room for what it wants.
    fn fill(&mut self) {
        self.hang_up();
        self.isolate.handle_full();
        self.isolate.handle_lost(self.now, self.random, true);
        self.tell();
    }

    /// The bus lets the connection go, for a shard has the streams from now on.
    pub(super) fn send_on(&mut self) {
        self.hang_up();
        self.isolate.handle_sent_on(self.now, self.random);
        self.tell();
    }

    /// The connection goes with the request that held it.
    pub(super) fn move_on(&mut self) {
        self.hang_up();
        self.isolate.handle_moved(self.now);
    }

    /// The bus begins with an empty disk.
    pub(super) fn begin_anew(&mut self) {
        self.cut();
        self.epochs += 1;
        self.log.clear();
        self.bus = Bus::new(mark(self.epochs, 0));
    }

    pub(super) fn is_connected(&self) -> bool {
        self.socket.is_some()
    }

    /// How often the isolate said all that it wants, and how often what has changed.
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

    /// Gives the streams what there is for them.
    pub(super) fn tell(&mut self) {
        while let Some(output) = self.isolate.poll_output(self.now) {
            self.given += 1;
            match output {
                IsolateOutput::Write(fan) => self.give(&fan),
                IsolateOutput::Poll(_) => {}
                IsolateOutput::Refused { id, .. } => {
                    self.isolate.remove(id);
                    self.lose(id);
                }
                IsolateOutput::Parted(parted) => self.lose(parted.id),
            }
        }
        self.write();
    }

    /// Now one has room, now another.
    fn give(&mut self, fan: &Fan) {
        let mut missed = Vec::new();
        for (id, chunk) in &fan.writes {
            let place = self.place_of(*id);
            if (place + self.given).is_multiple_of(3) {
                missed.push(*id);
            } else {
                self.streams[place].read(fan.chunk(*chunk));
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
