//! An isolate at a shard: under any failure, delay or lack of room, each acknowledged stream
//! receives its topics.

use std::collections::VecDeque;

use mcp_listen::{
    bus::{BatchCall, EdgeCloseReason, EdgeId, FollowCall, Shard, ShardId, ShardOutput},
    clock::Millis,
    event::ServerEvent,
    fanout::StreamId,
    filter::SubscriptionFilter,
    isolate::{Isolate, IsolateOutput},
    listen::ServerStream,
    message,
    position::Position,
    root::{Log as _, RootOutput},
    upstream::{Timeouts, UpstreamCall},
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::shard::{PROMPTS, attach};
use crate::any::{any_event, any_filter, check, id, is_of_same_key};
use crate::{
    follow::Publish as _,
    log::{Log, Root},
};

const SHARD: ShardId = ShardId(1);

#[derive(Clone, Debug)]
enum Step {
    Open(SubscriptionFilter),
    Leave(usize),
    Publish(ServerEvent),
    TakeUp,
    TakeDown,
    Follow {
        fails: bool,
    },
    Deliver {
        fails: bool,
    },
    /// The request that owned the connection ends.
    Move,
    /// This much room is left at the root.
    Room(usize),
    Pass(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => any_filter().prop_map(Step::Open),
        2 => (0..8usize).prop_map(Step::Leave),
        5 => any_event().prop_map(Step::Publish),
        5 => Just(Step::TakeUp),
        5 => Just(Step::TakeDown),
        5 => prop::bool::weighted(0.2).prop_map(|fails| Step::Follow { fails }),
        4 => prop::bool::weighted(0.2).prop_map(|fails| Step::Deliver { fails }),
        1 => Just(Step::Move),
        1 => (0..2_000usize).prop_map(Step::Room),
        2 => (0..3_000u64).prop_map(Step::Pass),
    ]
}

struct Stream {
    id: Option<StreamId>,
    filter: SubscriptionFilter,
    is_acknowledged: bool,
    /// The cues that it has yet to get, each with its topic.
    expected: Vec<(String, ServerEvent)>,
}

struct World {
    root: Root,
    shard: Shard,
    isolate: Isolate,
    edge: Option<EdgeId>,
    log: Log,
    up: VecDeque<String>,
    down: VecDeque<String>,
    follows: VecDeque<FollowCall>,
    batches: VecDeque<BatchCall>,
    streams: Vec<Stream>,
    now: Millis,
}

impl World {
    fn new(max_bytes: usize) -> Self {
        let log = Log::default();
        let mut root = log.root();
        root.bus_mut().set_shards(Position(0), 0, 1);
        root.bus_mut().route("EU", 1, None);
        let mut shard = Shard::new(0);
        shard.set_room(max_bytes, 4);
        // A shard without edges is closed, and this one has to stay.
        attach(&mut shard, PROMPTS, None);
        Self {
            root,
            shard,
            isolate: Isolate::new(Timeouts::default(), Millis(0)),
            edge: None,
            log,
            up: VecDeque::new(),
            down: VecDeque::new(),
            follows: VecDeque::new(),
            batches: VecDeque::new(),
            streams: Vec::new(),
            now: Millis(0),
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Open(filter) => self.open(filter),
            Step::Leave(place) => {
                let stream = self.streams.get_mut(place);
                if let Some(id) = stream.and_then(|stream| stream.id.take()) {
                    self.isolate.remove(id);
                }
            }
            Step::Publish(event) => self.publish(&event),
            Step::TakeUp => self.take_up(),
            Step::TakeDown => {
                if let Some(frame) = self.down.pop_front() {
                    self.isolate.handle_message(&frame, self.now).ok();
                }
            }
            Step::Follow { fails } => self.follow(fails),
            Step::Deliver { fails } => self.deliver(fails),
            Step::Move => {
                self.hang_up();
                self.isolate.handle_moved(self.now);
            }
            Step::Room(max_bytes) => self.root.bus_mut().set_room(max_bytes, 0),
            Step::Pass(span) => self.now = self.now + Millis(span),
        }
        self.carry_out();
    }

    fn open(&mut self, filter: SubscriptionFilter) {
        if !self.isolate.has_room_for(&filter, self.now) {
            return;
        }
        let stream = ServerStream::new(id("1"), filter.clone(), Millis(0), self.now);
        self.streams.push(Stream {
            id: Some(self.isolate.open(stream, self.now)),
            filter,
            is_acknowledged: false,
            expected: Vec::new(),
        });
    }

    fn publish(&mut self, event: &ServerEvent) {
        self.log.push(event);
        let cue = message::notification(&id("1"), event);
        for stream in &mut self.streams {
            let is_open = stream.id.is_some() && stream.is_acknowledged;
            if is_open && stream.filter.accepts(event) {
                // The last state of a task replaces the earlier ones.
                stream
                    .expected
                    .retain(|(_, expected)| !is_of_same_key(expected, event));
                stream.expected.push((cue.clone(), event.clone()));
            }
        }
        let position = self.root.bus_mut().publish(event).position;
        assert_eq!(position, self.log.cursor().position);
    }

    fn take_up(&mut self) {
        if let (Some(edge), Some(text)) = (self.edge, self.up.pop_front()) {
            self.shard.handle_message(edge, &text, self.now).ok();
        }
    }

    fn follow(&mut self, fails: bool) {
        let Some(FollowCall { seq, text, .. }) = self.follows.pop_front() else {
            return;
        };
        if fails {
            return self.shard.handle_failure(seq, false, self.now, 0.5);
        }
        let reply = self.root.handle_follow(SHARD, &text, self.now);
        let reply = reply.unwrap().unwrap();
        self.shard.handle_response(seq, &reply, self.now, 0.5);
    }

    fn deliver(&mut self, fails: bool) {
        let Some(BatchCall {
            shard, call, text, ..
        }) = self.batches.pop_front()
        else {
            return;
        };
        if fails {
            let bus = self.root.bus_mut();
            return bus.handle_failure(shard, call, false, self.now, 0.5);
        }
        let ack = self.shard.handle_batch(&text, self.now).unwrap();
        let bus = self.root.bus_mut();
        let outcome = bus.handle_ack(shard, call, &ack, self.now, 0.5);
        outcome.unwrap();
    }

    fn carry_out(&mut self) {
        self.shard.handle_timeout(self.now, 0.5);
        self.root.bus_mut().handle_timeout(self.now, 0.5);
        self.isolate.handle_timeout(self.now, 0.5);
        while let Some(output) = self.root.poll_output(self.now, self.now).unwrap() {
            if let RootOutput::Batch(call) = output {
                self.batches.push_back(call);
            }
        }
        while let Some(output) = self.shard.poll_output() {
            self.take_output(output);
        }
        self.follows.extend(self.shard.poll_call(self.now));
        loop {
            while let Some(output) = self.isolate.poll_output(self.now) {
                self.give(output);
            }
            self.write();
            match self.isolate.poll_call(self.now) {
                None => return,
                Some(UpstreamCall::Leave) => self.hang_up(),
                Some(UpstreamCall::Send(text)) => self.up.push_back(text),
                Some(UpstreamCall::Attach(text)) => {
                    self.hang_up();
                    self.edge = Some(self.shard.connect());
                    self.up.push_back(text);
                }
                Some(other) => panic!("not known: {other:?}"),
            }
        }
    }

    fn take_output(&mut self, output: ShardOutput) {
        match output {
            ShardOutput::Send(delivery)
                if self.edge.is_some_and(|edge| delivery.edges.contains(&edge)) =>
            {
                self.down.push_back(delivery.message);
            }
            ShardOutput::Close(edge, reason) if self.edge == Some(edge) => {
                self.hang_up();
                if reason == EdgeCloseReason::Full {
                    self.isolate.handle_full();
                }
                self.isolate
                    .handle_lost(self.now, 0.5, reason == EdgeCloseReason::Full);
            }
            _ => {}
        }
    }

    fn give(&mut self, output: IsolateOutput) {
        match output {
            IsolateOutput::Write(batch) => {
                for (id, chunk) in &batch.writes {
                    let stream = self.streams.iter_mut().find(|it| it.id == Some(*id));
                    stream.unwrap().read(batch.chunk(*chunk));
                }
            }
            IsolateOutput::Poll(_) => {}
            IsolateOutput::Refused { id, .. } => {
                self.isolate.remove(id);
                let stream = self.let_go(id);
                assert!(!stream.is_acknowledged, "a stream that is open is refused");
            }
            IsolateOutput::Moved(moved) => drop(self.let_go(moved.id)),
            other => panic!("not known: {other:?}"),
        }
    }

    fn let_go(&mut self, id: StreamId) -> &mut Stream {
        let stream = self.streams.iter_mut().find(|it| it.id == Some(id));
        let stream = stream.unwrap();
        stream.id = None;
        stream
    }

    fn write(&mut self) {
        for stream in &mut self.streams {
            let Some(id) = stream.id else { continue };
            while let Some(bytes) = self.isolate.fanout().poll(id, self.now) {
                stream.read(&bytes);
            }
            if self.isolate.stream(id).is_some_and(ServerStream::is_ending) {
                self.isolate.remove(id);
                stream.id = None;
            }
        }
    }

    fn hang_up(&mut self) {
        if let Some(edge) = self.edge.take() {
            self.shard.disconnect(edge, self.now);
        }
        self.up.clear();
        self.down.clear();
    }

    /// From here on nothing fails, and there is room.
    fn come_to_rest(&mut self) {
        self.root.bus_mut().set_room(usize::MAX, 0);
        for _ in 0..2_000 {
            let step = if !self.up.is_empty() {
                Step::TakeUp
            } else if !self.down.is_empty() {
                Step::TakeDown
            } else if !self.follows.is_empty() {
                Step::Follow { fails: false }
            } else if !self.batches.is_empty() {
                Step::Deliver { fails: false }
            } else {
                Step::Pass(200)
            };
            self.step(step);
        }
    }
}

impl Stream {
    fn read(&mut self, bytes: &[u8]) {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        for frame in text.split_terminator("\n\n") {
            let said = frame.strip_prefix("event: message\ndata: ").unwrap();
            self.is_acknowledged |= said.contains("acknowledged");
            self.expected.retain(|(cue, _)| cue != said);
        }
    }
}

#[test]
fn streams_receive_their_events_under_any_failure_or_lack_of_room() {
    let room = prop_oneof![Just(usize::MAX >> 1), 800..40_000usize];
    check((room, vec(any_step(), 0..60)), |(max_bytes, steps)| {
        let mut world = World::new(max_bytes);
        for step in steps {
            world.step(step);
        }
        world.come_to_rest();
        for stream in world.streams.iter().filter(|stream| stream.id.is_some()) {
            assert_eq!(stream.expected, [], "{:?}", stream.filter);
            assert!(stream.is_acknowledged, "{:?}", stream.filter);
        }
        for stream in &mut world.streams {
            if let Some(id) = stream.id.take() {
                world.isolate.remove(id);
            }
        }
        world.come_to_rest();
        assert_eq!(
            (
                world.isolate.name_bytes(),
                world.shard.registry().name_bytes()
            ),
            (0, 0)
        );
    });
}
