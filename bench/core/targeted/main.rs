//! The cost of an event for 100 streams of a process that has many others: `npm run bench --
//! --only core-targeted` runs it. A number as an argument replaces the sizes.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark fails by panicking"
)]

use std::time::Instant;

use mcp_listen::{
    clock::Millis, event::ServerEvent, fanout::Fanout, filter::SubscriptionFilter, id::RequestId,
    listen::ServerStream, uri::Uri,
};

const SIZES: [usize; 2] = [1_000, 100_000];
/// Streams that receive each event.
const MATCHING: usize = 100;
/// Distinct ids of the listen requests.
const IDS: usize = 4;
const ROUNDS: usize = 2_001;

fn main() {
    println!("| streams | an event for {MATCHING} of them, us | 99th percentile, us |");
    println!("|---|---|---|");
    let asked: Vec<usize> = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let sizes = if asked.is_empty() { &SIZES[..] } else { &asked };
    for &streams in sizes {
        let times = times(streams);
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!("| {streams} | {:.2} | {:.2} |", at(50), at(99));
    }
}

/// Microseconds of each event, in ascending order.
fn times(streams: usize) -> Vec<f64> {
    let mut fanout = Fanout::default();
    for number in 0..streams {
        // The streams that match are spread evenly, and have each of the ids in turn.
        let every = streams / MATCHING;
        let is_matching = number % every == 0;
        let id = if is_matching { number / every } else { number };
        open(
            &mut fanout,
            if is_matching { 0 } else { number + 1 },
            id % IDS,
        );
    }
    let mut times: Vec<f64> = (0..ROUNDS as u64)
        .map(|now| publish(&mut fanout, Millis(now)))
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

fn open(fanout: &mut Fanout, resource: usize, id: usize) {
    let id = RequestId::from_raw(&id.to_string(), 256).expect("an id");
    let filter = SubscriptionFilter {
        resource_subscriptions: vec![uri(resource)],
        ..SubscriptionFilter::default()
    };
    let stream = fanout.open(
        ServerStream::new(id, filter, Millis(0), Millis(0)),
        Millis(0),
    );
    fanout.handle_attached(stream, Millis(0));
    while fanout.poll(stream, Millis(0)).is_some() {}
}

/// Microseconds until the frames of an event and the streams that they are for are known.
fn publish(fanout: &mut Fanout, now: Millis) -> f64 {
    let event = ServerEvent::ResourceUpdated { uri: uri(0) };
    let began = Instant::now();
    let batch = fanout.publish(event, now, now);
    let time = began.elapsed().as_secs_f64() * 1e6;
    assert!(!batch.is_empty(), "no frame was written");
    time
}

fn uri(number: usize) -> Uri {
    Uri::new(&format!("bench://resource/{number:07}"), 256).expect("a URI")
}
