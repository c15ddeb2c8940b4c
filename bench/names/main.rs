//! What one more name costs a bus object on a connection that has many already: `npm run bench:names`
//! prints the table of docs/scale.md.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a bench says what went wrong by panicking"
)]

use std::time::Instant;

use mcp_listen::{
    bus::{Adjust, Attach, Bus, EdgeId, EdgeMessage, Interest, Mark, Position, Received},
    filter::SubscriptionFilter,
    uri::Uri,
};

const NAMES: [usize; 4] = [0, 4_096, 16_384, 65_536];
const ROUNDS: u64 = 2_001;

fn main() {
    println!("| names on the connection | one more name, us | 99th percentile, us |");
    println!("|---|---|---|");
    for names in NAMES {
        let times = times(names);
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!("| {names} | {:.1} | {:.1} |", at(50), at(99));
    }
}

/// Microseconds of each adjustment that adds a name or drops it again, in ascending order.
fn times(names: usize) -> Vec<f64> {
    let mut bus = Bus::new(Mark {
        epoch: "e".into(),
        position: Position(0),
    });
    let edge = attached(&mut bus, names);
    let mut times: Vec<f64> = (1..=ROUNDS)
        .map(|seq| adjust(&mut bus, edge, seq))
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

fn attached(bus: &mut Bus, names: usize) -> EdgeId {
    let edge = bus.connect();
    let all: Vec<String> = (0..names)
        .map(|number| format!("note://{number}"))
        .collect();
    let attach = Attach::new(Interest::Filter(filter(&all)));
    let taken = bus.handle_message(edge, &EdgeMessage::Attach(attach).to_json());
    assert!(
        matches!(taken, Ok(Received::Attached { .. })),
        "not attached"
    );
    edge
}

/// What a bus object does for one more stream on a connection: reads the frame, changes the index, and
/// says what is to be kept and answered.
fn adjust(bus: &mut Bus, edge: EdgeId, seq: u64) -> f64 {
    let one = filter(&["note://one-more".into()]);
    let (add, drop) = if seq % 2 == 1 {
        (one, SubscriptionFilter::default())
    } else {
        (SubscriptionFilter::default(), one)
    };
    let frame = EdgeMessage::Adjust(Adjust { seq, add, drop }).to_json();
    let began = Instant::now();
    let taken = bus.handle_message(edge, &frame);
    let time = began.elapsed().as_secs_f64() * 1e6;
    assert!(
        matches!(taken, Ok(Received::Adjusted { .. })),
        "not adjusted"
    );
    time
}

fn filter(names: &[String]) -> SubscriptionFilter {
    let uris = names.iter().map(|name| Uri::new(name, 256).expect("a URI"));
    SubscriptionFilter {
        resource_subscriptions: uris.collect(),
        ..SubscriptionFilter::default()
    }
}
