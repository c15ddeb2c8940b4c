//! The cost of one more name on a connection of a bus object that has many: `npm run bench:names`
//! prints the table of docs/scale.md. Numbers as arguments replace its rows.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark fails by panicking"
)]

use std::time::Instant;

use mcp_listen::{
    bus::{Bus, EdgeId, Received},
    position::{Cursor, Position},
    topic::Topic,
    uri::Uri,
    wire::Follow,
};

const NAMES: [usize; 4] = [0, 4_096, 16_384, 65_536];
const ROUNDS: u64 = 2_001;

fn main() {
    println!("| names on the connection | one more name, us | 99th percentile, us |");
    println!("|---|---|---|");
    let asked: Vec<usize> = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let sizes = if asked.is_empty() { &NAMES[..] } else { &asked };
    for &names in sizes {
        let times = times(names);
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!("| {names} | {:.1} | {:.1} |", at(50), at(99));
    }
}

/// Microseconds of each change that adds a name or drops it again, in ascending order.
fn times(names: usize) -> Vec<f64> {
    let mut bus = Bus::new(Cursor {
        epoch: "e".into(),
        position: Position(0),
    });
    let edge = following(&mut bus, names);
    let mut times: Vec<f64> = (2..=ROUNDS + 1)
        .map(|seq| change(&mut bus, edge, seq))
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

fn following(bus: &mut Bus, names: usize) -> EdgeId {
    let edge = bus.connect();
    let all: Vec<String> = (0..names)
        .map(|number| format!("note://{number}"))
        .collect();
    let follow = Follow::fresh(1, topics(&all));
    let received = bus.handle_message(edge, &follow.to_json());
    assert!(
        matches!(received, Ok(Received::Followed(_))),
        "not followed"
    );
    edge
}

/// Microseconds of a bus object for one more stream on a connection: reads the frame, changes the
/// index, and returns what to store and to reply.
fn change(bus: &mut Bus, edge: EdgeId, seq: u64) -> f64 {
    let one = topics(&["note://one-more".into()]);
    let mut follow = Follow {
        seq,
        ..Follow::default()
    };
    if seq.is_multiple_of(2) {
        follow.add = one;
    } else {
        follow.drop = one;
    }
    let frame = follow.to_json();
    let began = Instant::now();
    let received = bus.handle_message(edge, &frame);
    let Ok(Received::Followed(reply)) = received else {
        panic!("not followed");
    };
    let frames = reply.finish(bus);
    let time = began.elapsed().as_secs_f64() * 1e6;
    assert_eq!(frames.len(), 1, "no reply");
    time
}

fn topics(names: &[String]) -> Vec<Topic> {
    let uris = names.iter().map(|name| Uri::new(name, 256).expect("a URI"));
    uris.map(Topic::Resource).collect()
}
