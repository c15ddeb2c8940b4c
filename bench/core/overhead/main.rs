//! The cost of counting: `npm run bench:overhead` publishes to streams with and without a tally in
//! turn, and prints the ratio.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark fails by panicking"
)]

use std::{sync::Arc, time::Instant};

use mcp_listen::{
    bus::{Bus, EdgeId, Received},
    clock::Millis,
    event::ServerEvent,
    fanout::Fanout,
    filter::SubscriptionFilter,
    id::RequestId,
    isolate::{Isolate, IsolateOutput},
    listen::ServerStream,
    metrics::Metrics,
    position::{Cursor, Position},
    upstream::{Timeouts, UpstreamCall},
    uri::Uri,
};

const STREAMS: usize = 100;
const EVENTS: usize = 100;
const ROUNDS: usize = 201;

fn main() {
    println!(
        "| | streams | events a round | rounds | counted / not counted, median | quartiles \
         | more, for each notification |"
    );
    println!("|---|---|---|---|---|---|---|");
    compare("bus, frame, stream", Apart::new, Apart::round);
    compare("fan-out of a process", Together::new, Together::round);
}

/// Runs rounds with counted streams and with plain ones, in turn.
fn compare<S>(name: &str, new: fn(Option<&Arc<Metrics>>) -> S, round: fn(&mut S) -> f64) {
    let (mut plain, mut counted) = (new(None), new(Some(&Arc::default())));
    let mut ratios = Vec::new();
    let mut more = Vec::new();
    for _ in 0..ROUNDS {
        let (one, other) = (round(&mut counted), round(&mut plain));
        ratios.push(one / other);
        more.push((one - other) * 1e9 / (STREAMS * EVENTS) as f64);
    }
    ratios.sort_by(f64::total_cmp);
    more.sort_by(f64::total_cmp);
    let at = |quarter: usize| ratios[ROUNDS * quarter / 4];
    println!(
        "| {name} | {STREAMS} | {EVENTS} | {ROUNDS} | {:.3} | {:.3} - {:.3} | {:.0} ns |",
        at(2),
        at(1),
        at(3),
        more[ROUNDS / 2]
    );
}

/// Streams with one connection to the bus each.
struct Apart {
    bus: Bus,
    edges: Vec<(EdgeId, Isolate)>,
    is_counted: bool,
}

impl Apart {
    fn new(metrics: Option<&Arc<Metrics>>) -> Self {
        let mut bus = Bus::new(Cursor {
            epoch: "e".into(),
            position: Position(0),
        });
        let edges = (0..STREAMS).map(|_| attached(&mut bus, metrics));
        Self {
            edges: edges.collect(),
            bus,
            is_counted: metrics.is_some(),
        }
    }

    /// Seconds of a round: each event passes through the bus and reaches each stream as a separate
    /// frame.
    fn round(&mut self) -> f64 {
        let event = ServerEvent::ResourceUpdated { uri: uri() };
        let began = Instant::now();
        for now in 0..EVENTS as u64 {
            let at = self.is_counted.then_some(Millis(now));
            for delivery in self.bus.publish_at(&event, at).deliveries {
                for id in delivery.edges {
                    let (_, isolate) = &mut self.edges[id.0 as usize];
                    let received = isolate.handle_message(&delivery.message, Millis(now));
                    received.expect("a frame of the bus");
                    assert!(written(isolate, Millis(now)) > 0, "no bytes were written");
                }
            }
        }
        began.elapsed().as_secs_f64()
    }
}

/// Streams of a process on one fan-out.
struct Together(Fanout);

impl Together {
    fn new(metrics: Option<&Arc<Metrics>>) -> Self {
        let mut fanout = Fanout::default();
        for _ in 0..STREAMS {
            let stream = fanout.open(counted(metrics), Millis(0));
            fanout.handle_attached(stream, Millis(0));
            while fanout.poll(stream, Millis(0)).is_some() {}
        }
        Self(fanout)
    }

    fn round(&mut self) -> f64 {
        let began = Instant::now();
        for now in 0..EVENTS as u64 {
            let event = ServerEvent::ResourceUpdated { uri: uri() };
            let batch = self.0.publish(event, Millis(now), Millis(now));
            assert!(!batch.is_empty(), "no bytes were written");
        }
        began.elapsed().as_secs_f64()
    }
}

/// A stream that counts in `metrics`.
fn counted(metrics: Option<&Arc<Metrics>>) -> ServerStream {
    let mut stream = stream();
    if let Some(metrics) = metrics {
        stream.count_in(metrics.clone());
    }
    stream
}

fn attached(bus: &mut Bus, metrics: Option<&Arc<Metrics>>) -> (EdgeId, Isolate) {
    let mut isolate = Isolate::new(Timeouts::default(), Millis(0));
    isolate.open(counted(metrics), Millis(0));
    let Some(UpstreamCall::Attach(text)) = isolate.poll_call(Millis(0)) else {
        panic!("does not attach");
    };
    let number = bus.connect();
    let Ok(Received::Followed(reply)) = bus.handle_message(number, &text) else {
        panic!("not followed");
    };
    for frame in reply.finish(bus) {
        isolate.handle_message(&frame, Millis(0)).expect("followed");
    }
    written(&mut isolate, Millis(0));
    (number, isolate)
}

/// Drains the output of the isolate.
///
/// # Returns
/// its length in bytes
fn written(isolate: &mut Isolate, now: Millis) -> usize {
    let mut bytes = 0;
    while let Some(output) = isolate.poll_output(now) {
        match output {
            IsolateOutput::Write(batch) => bytes += batch.bytes.len(),
            IsolateOutput::Poll(due) => {
                for id in due {
                    while let Some(chunk) = isolate.fanout().poll(id, now) {
                        bytes += chunk.len();
                    }
                }
            }
            _ => panic!("a stream ended"),
        }
    }
    bytes
}

fn stream() -> ServerStream {
    let id = RequestId::from_raw("1", 256).expect("an id");
    let filter = SubscriptionFilter {
        resource_subscriptions: vec![uri()],
        ..SubscriptionFilter::default()
    };
    ServerStream::new(id, filter, Millis(0), Millis(0))
}

fn uri() -> Uri {
    Uri::new("note://some/document", 256).expect("a URI")
}
