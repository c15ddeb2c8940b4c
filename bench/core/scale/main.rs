//! The cost of a publish and of an attach, and the memory of one object, as a bus grows to a
//! million streams: `npm run bench:scale` prints the tables of docs/scale.md. Numbers as arguments
//! are sizes of one shard, which is then measured alone.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark fails by panicking"
)]

mod memory;
mod one_shard;
mod sharded;

use std::{collections::BTreeSet, time::Instant};

use mcp_listen::{
    bus::{Bus, ShardId},
    event::ServerEvent,
    position::{Cursor, Position},
    topic::Topic,
    uri::Uri,
};
use sharded::{Sharded, Traffic};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// Streams, and the shards that hold them.
const SIZES: [(u32, u32); 4] = [(1_000, 1), (10_000, 10), (100_000, 100), (1_000_000, 1_000)];

/// The resources that streams watch beside the list of tools.
#[derive(Clone, Copy)]
enum Watching {
    /// Three of 10,000 documents.
    Shared,
    /// One note for each stream.
    Own,
}

const DOCUMENTS: u32 = 10_000;

fn main() {
    let asked: Vec<u32> = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .collect();
    if !asked.is_empty() {
        return one_shard::print(&asked);
    }
    one_shard::print(&one_shard::SIZES);
    println!();
    for (watching, title) in [
        (
            Watching::Shared,
            "Each stream follows the list of tools and 3 of 10,000 documents",
        ),
        (
            Watching::Own,
            "Each stream follows the list of tools and its own note",
        ),
    ] {
        println!("### {title}\n\n{PUBLISHES}");
        let rows = SIZES.map(|(streams, shards)| row(streams, shards, watching));
        println!("\n{REST}");
        for row in rows {
            println!("{row}");
        }
        println!();
    }
}

/// Prints the rows of the first table.
///
/// # Returns
/// the row of the second table
fn row(streams: u32, shards: u32, watching: Watching) -> String {
    let per_shard = streams / shards;
    let before = memory::live();
    let mut bus = Sharded::new(shards, per_shard + 10);
    for stream in 0..streams {
        let shard = (stream / per_shard) as usize;
        bus.begin(shard, topics(watching, stream));
        if (stream + 1) % 100 == 0 {
            bus.settle(shard);
        }
    }
    let built = memory::live() - before;
    let uri = uri(watching, per_shard / 2);
    let unwatched = named("unwatched://note");
    for (event, name) in [
        (ServerEvent::ToolsListChanged, "what all follow"),
        (ServerEvent::ResourceUpdated { uri }, "one resource"),
        (
            ServerEvent::ResourceUpdated { uri: unwatched },
            "what no stream follows",
        ),
    ] {
        let cost = publish(&mut bus, &event);
        println!("| {streams} | {shards} | {name} | {cost} |");
    }
    let attaches = attaches(&mut bus, watching, streams);
    let at_shards = freed(&mut bus.shards);
    let rows = rows(watching, streams, per_shard);
    let topics = rows.len();
    let restart = restart(&bus.root, rows);
    let at_root = built.saturating_sub(at_shards);
    format!(
        "| {streams} | {shards} | {attaches} | {} | {} | {topics} | {restart} |",
        bytes(at_root as f64),
        bytes(at_shards as f64 / f64::from(shards)),
    )
}

/// The cells of one kind of publish: microseconds at the root, calls, microseconds at each called
/// shard, bytes of one call with its reply, and frames.
fn publish(bus: &mut Sharded, event: &ServerEvent) -> String {
    let (mut at_root, mut at_shards) = (0.0, 0.0);
    let rounds = if bus.shards.len() < 100 { 1_000 } else { 10 };
    for round in 0..=rounds {
        // The first round warms the caches.
        if round <= 1 {
            (at_root, at_shards) = (0.0, 0.0);
            bus.traffic = Traffic::default();
        }
        let started = Instant::now();
        let calls = bus.publish(event);
        at_root += micros(started);
        for (shard, call, text) in calls {
            let started = Instant::now();
            let ack = bus.deliver(shard, &text);
            at_shards += micros(started);
            let started = Instant::now();
            bus.confirm(shard, call, &ack);
            at_root += micros(started);
        }
    }
    let Traffic {
        calls,
        bytes,
        frames,
    } = bus.traffic;
    let rounds = f64::from(rounds);
    let each = |total: f64| match calls {
        0 => "-".to_owned(),
        _ => format!("{:.0}", total / calls as f64),
    };
    format!(
        "{:.1} | {:.0} | {} | {} | {:.0}",
        at_root / rounds,
        calls as f64 / rounds,
        each(at_shards),
        each(bytes as f64),
        frames as f64 / rounds
    )
}

/// The cells of an attach whose topics are already followed, and of one with a new topic.
fn attaches(bus: &mut Sharded, watching: Watching, streams: u32) -> String {
    const ROUNDS: u32 = 1_000;
    let mut timed = |topics: &dyn Fn(u32) -> Vec<Topic>| {
        bus.traffic = Traffic::default();
        let started = Instant::now();
        for round in 0..ROUNDS {
            let edge = bus.attach(0, topics(round));
            bus.shards[0].disconnect(edge, mcp_listen::clock::Millis(0));
        }
        let calls = bus.traffic.calls as f64 / f64::from(ROUNDS);
        (micros(started) / f64::from(ROUNDS), calls)
    };
    let (known, known_calls) = timed(&|_| topics(watching, 0));
    let (new, new_calls) = timed(&|round| topics(Watching::Own, streams + round));
    let started = Instant::now();
    for _ in 0..ROUNDS {
        bus.place();
    }
    let place = micros(started) / f64::from(ROUNDS);
    assert!(known_calls < 0.01 && new_calls > 0.99, "calls without need");
    format!("{known:.0} | {new:.0} | {place:.1}")
}

/// The rows of the shards on disk, one for each topic that a shard follows.
fn rows(watching: Watching, streams: u32, per_shard: u32) -> BTreeSet<(ShardId, String)> {
    let all = (0..streams).flat_map(|stream| {
        let shard = ShardId(stream / per_shard + 1);
        let topics = topics(watching, stream).into_iter();
        topics.map(move |topic| (shard, topic.to_text()))
    });
    all.collect()
}

/// Milliseconds until a root has restored what its shards follow.
fn restart(root: &Bus, rows: BTreeSet<(ShardId, String)>) -> String {
    let started = Instant::now();
    let cursor = Cursor {
        epoch: "e".into(),
        position: Position(0),
    };
    let mut restored = Bus::new(cursor);
    restored.set_shards(Position(0), 0, 1);
    for (shard, _, _) in root.shards() {
        restored.restore_shard(shard, "EU", 1, false);
    }
    for (shard, topic) in rows {
        restored.restore_topic(shard, Topic::from_text(&topic).expect("a topic"));
    }
    format!("{:.0}", micros(started) / 1_000.0)
}

fn freed<T>(things: &mut Vec<T>) -> usize {
    let before = memory::live();
    drop(std::mem::take(things));
    before - memory::live()
}

fn topics(watching: Watching, stream: u32) -> Vec<Topic> {
    let count = match watching {
        Watching::Shared => 3,
        Watching::Own => 1,
    };
    let watched = (0..count).map(|place| uri(watching, stream.wrapping_mul(count) + place));
    [Topic::Tools]
        .into_iter()
        .chain(watched.map(Topic::Resource))
        .collect()
}

/// A pseudo-random document, the same in each run, or the note of a stream.
fn uri(watching: Watching, number: u32) -> Uri {
    match watching {
        Watching::Shared => {
            let document = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
            named(&format!(
                "doc://library/{:05}",
                document % u64::from(DOCUMENTS)
            ))
        }
        Watching::Own => named(&format!("note://users/{number:07}/inbox")),
    }
}

fn named(text: &str) -> Uri {
    Uri::new(text, 2_048).expect("a uri")
}

fn micros(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1e6
}

fn bytes(count: f64) -> String {
    if count < 1e6 {
        format!("{:.0} KB", count / 1e3)
    } else {
        format!("{:.1} MB", count / 1e6)
    }
}

const PUBLISHES: &str = concat!(
    "| streams | shards | a publish of | at the root, us | calls | at each shard, us ",
    "| bytes of a call | frames |\n",
    "|---|---|---|---|---|---|---|---|",
);

const REST: &str = concat!(
    "| streams | shards | attach, us | attach with a new topic, us | placing, us ",
    "| memory of the root | of each shard | topics at the root | root read back, ms |\n",
    "|---|---|---|---|---|---|---|---|---|",
);
