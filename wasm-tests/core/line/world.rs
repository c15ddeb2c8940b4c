//! A bus with its log, one line with its streams, and the connection between them, on a clock of its own.

use std::collections::{BTreeMap, VecDeque};

use mcp_listen::{
    bus::{Bus, EdgeId, Interest, Position, Received},
    clock::Millis,
    edge::{BusCall, Edge, Frame, Patience, SharedEvents},
    event::ServerEvent,
    filter::SubscriptionFilter,
    line::{Line, LineCall, LineOutput},
    listen::ServerStream,
    message,
};

use crate::{
    any::{id, is_of_same_key},
    world::mark,
};

use super::stream::Stream;

pub(super) struct World {
    pub(super) line: Line,
    pub(super) bus: Bus,
    pub(super) now: Millis,
    /// Frames on their way to the bus, and from there.
    pub(super) up: VecDeque<String>,
    pub(super) down: VecDeque<String>,
    pub(super) streams: Vec<Stream>,
    /// Whether connections can be made.
    pub(super) is_shut: bool,
    /// Whether the bus is of the version that knows of no adjustments.
    pub(super) is_former: bool,
    pub(super) random: f64,
    /// What the line called for.
    pub(super) calls: Vec<LineCall>,
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
            line: Line::new("line", Patience::default()),
            bus: Bus::new(mark(0, 0)),
            now: Millis(0),
            up: VecDeque::new(),
            down: VecDeque::new(),
            streams: Vec::new(),
            is_shut: false,
            is_former: false,
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
        let interest = Interest::Filter(filter.clone());
        let edge = Edge::new(ServerStream::new(id("1"), filter, Millis(0), self.now));
        self.streams.push(Stream {
            edge,
            number: Some(self.line.attach(&interest, self.now)),
            owed: BTreeMap::new(),
            written: Vec::new(),
            has_ended: false,
        });
        self.streams.len() - 1
    }

    /// The client of a stream leaves.
    pub(super) fn leave(&mut self, stream: usize) {
        let Some(stream) = self.streams.get_mut(stream) else {
            return;
        };
        stream.has_ended = true;
        if let Some(number) = stream.number.take() {
            self.line.detach(number);
        }
    }

    /// A stream is closed gracefully, which tells its client what may have been missed.
    pub(super) fn close(&mut self, stream: usize) {
        let is_certain = self.line.is_certain();
        let stream = &mut self.streams[stream];
        if !is_certain {
            stream.edge.handle_doubt(self.now);
        }
        stream.edge.close();
        self.write();
    }

    pub(super) fn publish(&mut self, event: &ServerEvent) {
        let cue = message::notification(&id("1"), event);
        for stream in &mut self.streams {
            let is_owed = stream.is_acknowledged() && !stream.has_ended;
            if is_owed && stream.edge.stream().honored().accepts(event) {
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

    /// Does what the line and its streams want done, and delivers nothing.
    pub(super) fn tend(&mut self) {
        self.tell();
        while let Some(call) = self.line.poll_call(self.now) {
            self.calls.push(call.clone());
            assert!(self.calls.len() < 100_000, "it calls without end");
            match call {
                LineCall::Leave => self.hang_up(),
                LineCall::Attach(text) => self.connect(text),
                LineCall::Send(text) => self.up.push_back(text),
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
        if self.is_former && text.contains("\"type\":\"adjust\"") {
            return;
        }
        match self.bus.handle_message(edge, &text) {
            Ok(Received::Attached {
                answer,
                replay_after,
                ..
            }) => {
                self.answer(answer);
                self.replay(edge, replay_after);
            }
            Ok(Received::Adjusted { answer, .. }) => self.answer(answer),
            // The bus closes the connection.
            Ok(Received::Full) => self.fill(),
            Ok(Received::Detached) | Err(_) => {}
        }
    }

    /// The line takes the next frame, and now and then some that come with it.
    pub(super) fn take_down(&mut self) {
        let together = 1 + self.given % 4;
        for frame in self.down.drain(..together.min(self.down.len())) {
            // Frames that had to be dropped are told; the line goes on.
            self.line.handle_message(&frame, self.now).ok();
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
            self.line.handle_timeout(self.now, self.random);
            for stream in &mut self.streams {
                if !stream.has_ended {
                    stream.edge.handle_timeout(self.now, self.random);
                }
            }
            self.settle();
        }
        self.now = end;
    }

    /// The connection breaks, as when the bus is reset; what was on its way is gone.
    pub(super) fn cut(&mut self) {
        self.hang_up();
        self.line.handle_lost(self.now, self.random, false);
        self.tell();
    }

    /// The bus has no room for what the line wants.
    fn fill(&mut self) {
        self.hang_up();
        self.line.handle_full();
        self.line.handle_lost(self.now, self.random, true);
        self.tell();
    }

    /// The bus lets the connection go, for a shard has the streams from now on.
    pub(super) fn send_on(&mut self) {
        self.hang_up();
        self.line.handle_sent_on(self.now, self.random);
        self.tell();
    }

    /// The connection goes with the request that held it.
    pub(super) fn move_on(&mut self) {
        self.hang_up();
        self.line.handle_moved(self.now);
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

    /// Frames of this type that the line sent.
    pub(super) fn sent(&self, kind: &str) -> usize {
        let kind = format!("\"type\":\"{kind}\"");
        let is_kind = |call: &&LineCall| match call {
            LineCall::Leave => false,
            LineCall::Attach(text) | LineCall::Send(text) => text.contains(&kind),
        };
        self.calls.iter().filter(is_kind).count()
    }

    fn deadline(&self) -> Option<Millis> {
        let open = self.streams.iter().filter(|stream| !stream.has_ended);
        let streams = open.filter_map(|stream| stream.edge.poll_timeout());
        streams.chain(self.line.poll_timeout()).min()
    }

    fn connect(&mut self, text: String) {
        self.hang_up();
        if self.is_shut {
            self.line.handle_lost(self.now, self.random, false);
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

    fn answer(&mut self, answer: String) {
        let former = answer.replace(",\"adjust\":true", "");
        self.down
            .push_back(if self.is_former { former } else { answer });
    }

    fn replay(&mut self, edge: EdgeId, after: Option<Position>) {
        let Some(Position(after)) = after else {
            return;
        };
        let mut replay = self.bus.replay(edge).unwrap();
        let missed = usize::try_from(after).unwrap();
        for (position, event) in (after + 1..).zip(self.log.iter().skip(missed)) {
            replay.push(Position(position), event);
        }
        self.down.extend(self.bus.finish_replay(edge, replay));
    }

    /// Tells the streams what the line has for them, and does what they want done then.
    fn tell(&mut self) {
        loop {
            while let Some(output) = self.line.poll_output() {
                self.give(&output);
            }
            if !self.call() {
                return;
            }
        }
    }

    fn give(&mut self, output: &LineOutput) {
        let (now, random) = (self.now, self.random);
        let mut shared = match output {
            LineOutput::Send { messages, .. } => SharedEvents::read(messages),
            LineOutput::Lose { .. } | LineOutput::Refuse(_) => None,
        };
        self.given += 1;
        for (place, stream) in self.streams.iter_mut().enumerate() {
            match output {
                LineOutput::Send { messages, edges } => {
                    if stream.number.is_some_and(|it| edges.contains(&it)) {
                        // Now one has room, now another.
                        let has_room = !(place + self.given).is_multiple_of(3);
                        stream.hear(messages, shared.as_mut(), has_room, now);
                    }
                }
                LineOutput::Lose { edge, .. } | LineOutput::Refuse(edge)
                    if stream.number == Some(*edge) =>
                {
                    stream.number = None;
                    stream.edge.handle_bus_lost(now, random, false);
                }
                LineOutput::Lose { .. } | LineOutput::Refuse(_) => {}
            }
        }
    }

    /// Does what the streams call for; the answer is whether there was anything.
    fn call(&mut self) -> bool {
        let mut has_called = false;
        for stream in &mut self.streams {
            while let Some(call) = stream.edge.poll_call(self.now) {
                has_called = true;
                let interest = Interest::Filter(stream.edge.stream().honored().clone());
                let since = stream.edge.since().cloned();
                let former = stream.number;
                match (call, former) {
                    (BusCall::Ask, Some(number)) => {
                        self.line.attach_again(number, &interest, since, self.now);
                    }
                    (BusCall::Leave, _) => {
                        if let Some(number) = former {
                            self.line.detach(number);
                        }
                        stream.number = None;
                    }
                    _ => {
                        // As BusLine.attach does.
                        if let Some(number) = former {
                            self.line.detach(number);
                        }
                        stream.number = Some(self.line.attach(&interest, self.now));
                    }
                }
            }
        }
        has_called
    }

    fn write(&mut self) {
        for stream in &mut self.streams {
            while let Some(frame) = stream.edge.poll_frame(self.now) {
                let Frame::Bytes(bytes) = frame else {
                    stream.has_ended = true;
                    stream
                        .number
                        .take()
                        .into_iter()
                        .for_each(|it| self.line.detach(it));
                    continue;
                };
                stream.read(&bytes);
            }
        }
    }
}
