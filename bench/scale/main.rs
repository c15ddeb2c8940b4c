//! What a publish, an attach and one object's memory cost when a bus grows to a million streams:
//! `npm run bench:scale` prints the table of docs/scale.md.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench says what went wrong by panicking"
)]

mod bus;
mod memory;

use std::time::Instant;

use bus::{Bus, Traffic};
use mcp_listen::{
    bus::{Interest, Key, Mark, Position, Root, ShardId},
    event::ServerEvent,
    filter::SubscriptionFilter,
    uri::Uri,
};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// Streams, and shards that hold them.
const SIZES: [(u32, u32); 4] = [(1_000, 1), (10_000, 10), (100_000, 100), (1_000_000, 1_000)];

/// What streams watch, beside the list of tools.
#[derive(Clone, Copy)]
enum Watching {
    /// Three of 10,000 documents that everybody may watch.
    Shared,
    /// One note of their own.
    Own,
}

const DOCUMENTS: u32 = 10_000;

fn main() {
    for (watching, title) in [
        (
            Watching::Shared,
            "Each stream: the list of tools, and 3 of 10,000 documents",
        ),
        (
            Watching::Own,
            "Each stream: the list of tools, and one note of its own",
        ),
    ] {
        println!("### {title}\n");
        println!("{HEADER}");
        for (streams, shards) in SIZES {
            row(streams, shards, watching);
        }
        println!();
    }
}

fn row(streams: u32, shards: u32, watching: Watching) {
    let per_shard = streams / shards;
    let before = memory::live();
    let mut bus = Bus::new(shards, per_shard + 10);
    for stream in 0..streams {
        let shard = (stream / per_shard) as usize;
        bus.begin(shard, interest(watching, stream));
        if (stream + 1) % 100 == 0 {
            bus.settle(shard);
        }
    }
    let built = memory::live() - before;
    let target = uri(watching, per_shard / 2);
    let publishes = [
        publish(&mut bus, &ServerEvent::ToolsListChanged),
        publish(&mut bus, &ServerEvent::ResourceUpdated { uri: target }),
        publish(
            &mut bus,
            &ServerEvent::ResourceUpdated {
                uri: named("nobody://watches"),
            },
        ),
    ];
    let attaches = attaches(&mut bus, watching, streams);
    let keys = bus.root.rows().count();
    let restart = restart(&bus.root);
    let shards_memory = freed(&mut bus.shards);
    let root_memory = built.saturating_sub(shards_memory);
    let [tools, one, nobody] = publishes;
    println!(
        "| {streams} | {shards} | {tools} | {one} | {nobody} | {attaches} | {} | {} | {keys} | {restart} |",
        bytes(root_memory as f64),
        bytes(shards_memory as f64 / f64::from(shards)),
    );
}

/// One kind of publish: microseconds at the root and at each shard that it reaches, calls,
/// bytes of one call with its answer, and frames.
fn publish(bus: &mut Bus, event: &ServerEvent) -> String {
    let (mut at_root, mut at_shards) = (0.0, 0.0);
    bus.traffic = Traffic::default();
    // The first round is for the caches.
    let rounds = if bus.shards.len() < 100 { 1_000 } else { 10 };
    for round in 0..=rounds {
        if round == 1 {
            (at_root, at_shards) = (0.0, 0.0);
            bus.traffic = Traffic::default();
        }
        let started = Instant::now();
        let calls = bus.publish(event);
        at_root += micros(started);
        for (shard, call, text) in calls {
            let started = Instant::now();
            let answer = bus.deliver(shard, &text);
            at_shards += micros(started);
            let started = Instant::now();
            bus.taken(shard, call, &answer);
            at_root += micros(started);
        }
    }
    let Traffic {
        calls,
        bytes,
        frames,
    } = bus.traffic;
    let rounds = f64::from(rounds);
    let (calls, frames) = (calls as f64, frames as f64);
    let each = |total: f64| if calls > 0.0 { total / calls } else { 0.0 };
    format!(
        "{:.1} + {:.0} x {:.1} us, {:.0} B, {:.0} frames",
        at_root / rounds,
        calls / rounds,
        each(at_shards),
        each(bytes as f64),
        frames / rounds
    )
}

/// What an attach costs whose keys are followed already, and one with a new key.
fn attaches(bus: &mut Bus, watching: Watching, streams: u32) -> String {
    const ROUNDS: u32 = 1_000;
    let mut timed = |interest: &dyn Fn(u32) -> Interest| {
        bus.traffic = Traffic::default();
        let started = Instant::now();
        for round in 0..ROUNDS {
            let edge = bus.attach(0, interest(round));
            bus.shards[0].disconnect(edge, mcp_listen::clock::Millis(0));
        }
        let calls = bus.traffic.calls as f64 / f64::from(ROUNDS);
        (micros(started) / f64::from(ROUNDS), calls)
    };
    let (known, known_calls) = timed(&|_| interest(watching, 0));
    let (new, new_calls) = timed(&|round| interest(Watching::Own, streams + round));
    let started = Instant::now();
    for _ in 0..ROUNDS {
        bus.place();
    }
    let place = micros(started) / f64::from(ROUNDS);
    format!(
        "{known:.1} us, {known_calls:.0} calls | {new:.1} us, {new_calls:.0} calls | {place:.1} us"
    )
}

/// Milliseconds until a root has read back what its shards follow.
fn restart(root: &Root) -> String {
    let rows: Vec<(ShardId, String)> = root
        .rows()
        .map(|(shard, key)| (shard, key.to_text()))
        .collect();
    let started = Instant::now();
    let mark = Mark {
        epoch: "e".into(),
        position: Position(0),
    };
    let mut restored = Root::new(mark, Position(0), 0, 1);
    for (shard, _, _) in root.shards() {
        restored.restore_shard(shard, "EU", 1, false);
    }
    for (shard, key) in rows {
        restored.restore_key(shard, Key::from_text(&key).expect("a key"));
    }
    format!("{:.0} ms", micros(started) / 1_000.0)
}

fn freed<T>(things: &mut Vec<T>) -> usize {
    let before = memory::live();
    drop(std::mem::take(things));
    before - memory::live()
}

fn interest(watching: Watching, stream: u32) -> Interest {
    let count = match watching {
        Watching::Shared => 3,
        Watching::Own => 1,
    };
    let watched = (0..count).map(|place| uri(watching, stream.wrapping_mul(count) + place));
    Interest::Filter(SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: watched.collect(),
        ..SubscriptionFilter::default()
    })
}

/// Spread over the documents as by chance, and the same in each run.
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

const HEADER: &str = "| streams | shards | publish to all: root + shards x each, a call, frames | publish to one key | publish to nobody | attach, keys known | attach, a new key | place | root | each shard | keys at the root | root restart |
|---|---|---|---|---|---|---|---|---|---|---|---|";
