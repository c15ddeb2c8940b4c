//! The cost of one shard as it grows: a publish that reaches one edge, waking with all edges, and a
//! session's stream that opens and leaves while all others wait for the root.

use std::time::Instant;

use mcp_listen::{
    bus::{Bus, EdgeId, Route, Shard, ShardId, ShardOutput},
    clock::Millis,
    event::ServerEvent,
    position::{Cursor, Position},
    topic::{Topic, Topics},
    uri::Uri,
    wire::{Claim, Follow},
};

/// The streams of each row of the table.
pub(crate) const SIZES: [u32; 4] = [1_000, 4_000, 16_000, 32_000];
const ROUNDS: usize = 2_001;
const NOW: Millis = Millis(0);

/// Prints a row for each size.
pub(crate) fn print(sizes: &[u32]) {
    println!("### One shard, each stream with its own note\n\n{HEAD}");
    for &streams in sizes {
        let mut pair = Pair::new(streams);
        let (median, late) = pair.publishes();
        let waking = waking(streams);
        let session = session_stream(streams);
        println!("| {streams} | {median:.1} | {late:.1} | {waking:.1} | {session:.1} |");
    }
}

/// A root and its only shard.
struct Pair {
    bus: Bus,
    shard: Shard,
    streams: u32,
}

impl Pair {
    fn new(streams: u32) -> Self {
        let mut root = Bus::new(cursor());
        root.set_shards(Position(0), 0, streams + 1);
        let home = root.route("EU", u32::MAX, None);
        assert!(matches!(home, Route::Shard(ShardId(1))), "one shard");
        let mut shard = Shard::new(0);
        for stream in 0..streams {
            let edge = shard.connect();
            attach(&mut shard, edge, stream);
        }
        let mut pair = Self {
            bus: root,
            shard,
            streams,
        };
        pair.settle();
        pair
    }

    /// Microseconds at the shard for an event that one edge follows: median and 99th percentile.
    fn publishes(&mut self) -> (f64, f64) {
        let mut times: Vec<f64> = (0..ROUNDS).map(|round| self.publish(round)).collect();
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        (at(50), at(99))
    }

    fn publish(&mut self, round: usize) -> f64 {
        let stream = u32::try_from(round).expect("a round") * 7_919 % self.streams;
        let event = ServerEvent::ResourceUpdated { uri: uri(stream) };
        self.bus.publish_at(&event, None);
        let batch = self.bus.poll_batch(NOW).expect("a batch");
        let started = Instant::now();
        let ack = self.shard.handle_batch(&batch.text, NOW).expect("taken");
        let frames = frames(&mut self.shard);
        let spent = started.elapsed().as_secs_f64() * 1e6;
        assert!(frames == 1, "{frames} frames");
        let received = self.bus.handle_ack(batch.shard, batch.call, &ack, NOW, 0.0);
        received.expect("an ack");
        while self.bus.poll_entry().is_some() {}
        spent
    }

    fn settle(&mut self) {
        while let Some(call) = self.shard.poll_call(NOW) {
            let reply = self.bus.handle_follow(ShardId(1), &call.text);
            let frames = reply.expect("a call").finish(&mut self.bus);
            self.shard.handle_response(call.seq, &frames[0], NOW, 0.0);
        }
        frames(&mut self.shard);
        while self.bus.poll_entry().is_some() {}
    }
}

/// Microseconds for each stream when a shard wakes with `streams` of them: the fastest of five.
fn waking(streams: u32) -> f64 {
    let stored = (0..streams).map(|stream| topics(stream).into_iter().collect());
    let stored: Vec<Topics> = stored.collect();
    let times = (0..5).map(|_| {
        let started = Instant::now();
        let mut shard = Shard::new(1).woken(cursor());
        for topics in &stored {
            shard.restore(topics, Some(Position(0)), 1, None);
        }
        let spent = started.elapsed().as_secs_f64() * 1e6;
        assert!(shard.registry().attached() == stored.len(), "all are back");
        spent
    });
    times.fold(f64::INFINITY, f64::min) / f64::from(streams)
}

/// Microseconds in which the stream of one more session opens and leaves, while the streams of
/// `others` sessions wait for the reply to a call: the median.
fn session_stream(others: u32) -> f64 {
    let mut shard = Shard::new(0);
    for session in 0..others {
        open(&mut shard, session, 1);
    }
    shard.poll_call(NOW).expect("a call");
    let mut times: Vec<f64> = (1..=ROUNDS)
        .map(|stream| {
            let started = Instant::now();
            let edge = open(&mut shard, others, stream);
            assert!(shard.poll_timeout().is_some(), "the call is in flight");
            shard.disconnect(edge, NOW);
            started.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn open(shard: &mut Shard, session: u32, stream: usize) -> EdgeId {
    let edge = shard.connect();
    let claim = Claim::from_text(&format!("session-{session:07} {stream}"));
    let follow = Follow {
        joined: vec![claim.expect("a claim")],
        ..Follow::fresh(1, vec![Topic::Tools])
    };
    let received = shard.handle_message(edge, &follow.to_json(), NOW);
    received.expect("a follow");
    edge
}

fn attach(shard: &mut Shard, edge: EdgeId, stream: u32) {
    let text = Follow::fresh(1, topics(stream)).to_json();
    shard.handle_message(edge, &text, NOW).expect("a follow");
}

fn frames(shard: &mut Shard) -> usize {
    let mut frames = 0;
    while let Some(output) = shard.poll_output() {
        if let ShardOutput::Send(delivery) = output {
            frames += delivery.edges.len();
        }
    }
    frames
}

fn topics(stream: u32) -> Vec<Topic> {
    vec![Topic::Tools, Topic::Resource(uri(stream))]
}

fn uri(stream: u32) -> Uri {
    Uri::new(&format!("note://users/{stream:07}/inbox"), 2_048).expect("a uri")
}

fn cursor() -> Cursor {
    Cursor {
        epoch: "5a3c8e0e-0000-4000-8000-000000000000".into(),
        position: Position(0),
    }
}

const HEAD: &str = "\
| streams | a publish that reaches one of them, us | 99th percentile, us | waking, us a stream \
| a session's stream opens and leaves, us |
|---|---|---|---|---|";
