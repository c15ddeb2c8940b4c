//! What counting costs: `npm run bench:overhead` publishes to streams that are counted and to streams that are not, in turns,
//! and prints the ratio.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a bench says what went wrong by panicking"
)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use mcp_listen::{
    bus::{EdgeId, Hub, Mark, Position, Received},
    clock::Millis,
    edge::Edge,
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::RequestId,
    listen::ServerStream,
    tally::Tally,
    uri::Uri,
};

const STREAMS: usize = 100;
const EVENTS: usize = 100;
const ROUNDS: usize = 201;

fn main() {
    let (mut plain, mut counted) = (Side::new(None), Side::new(Some(&Arc::default())));
    let mut ratios: Vec<f64> = (0..ROUNDS)
        .map(|_| counted.round() / plain.round())
        .collect();
    ratios.sort_by(f64::total_cmp);
    let at = |quarter: usize| ratios[ROUNDS * quarter / 4];
    println!(
        "| streams | events a round | rounds | counted / not counted, median | quartiles | a notification, not counted |"
    );
    println!("|---|---|---|---|---|---|");
    println!(
        "| {STREAMS} | {EVENTS} | {ROUNDS} | {:.4} | {:.4} - {:.4} | {:.2} µs |",
        at(2),
        at(1),
        at(3),
        plain.each_us()
    );
}

/// Streams that are counted, or not.
struct Side {
    hub: Hub,
    edges: Vec<(EdgeId, Edge)>,
    is_counted: bool,
    spent: Duration,
    frames: usize,
}

impl Side {
    fn new(tally: Option<&Arc<Tally>>) -> Self {
        let mut hub = Hub::new(Mark {
            epoch: "e".into(),
            position: Position(0),
        });
        let edges = (0..STREAMS).map(|_| attached(&mut hub, tally));
        Self {
            edges: edges.collect(),
            hub,
            is_counted: tally.is_some(),
            spent: Duration::ZERO,
            frames: 0,
        }
    }

    /// The seconds that a round takes: each event goes through the bus, and to each stream as a frame of its own.
    fn round(&mut self) -> f64 {
        let event = ServerEvent::ResourceUpdated { uri: uri() };
        let began = Instant::now();
        for now in 0..EVENTS as u64 {
            let at = self.is_counted.then_some(Millis(now));
            for delivery in self.hub.publish_at(&event, at).deliveries {
                for id in delivery.edges {
                    let (_, edge) = &mut self.edges[id.0 as usize];
                    let taken = edge.handle_bus_message(&delivery.message, Millis(now));
                    taken.expect("a frame of the bus");
                    while edge.poll_frame(Millis(now)).is_some() {
                        self.frames += 1;
                    }
                }
            }
        }
        let spent = began.elapsed();
        self.spent += spent;
        spent.as_secs_f64()
    }

    fn each_us(&self) -> f64 {
        self.spent.as_secs_f64() * 1e6 / self.frames as f64
    }
}

fn attached(hub: &mut Hub, tally: Option<&Arc<Tally>>) -> (EdgeId, Edge) {
    let id = RequestId::from_raw("1", 256).expect("an id");
    let filter = SubscriptionFilter {
        resource_subscriptions: vec![uri()],
        ..SubscriptionFilter::default()
    };
    let mut edge = Edge::new(ServerStream::new(id, filter, Millis(0), Millis(0)));
    if let Some(tally) = tally {
        edge.count_in(tally.clone(), Millis(0));
    }
    let number = hub.connect();
    let Ok(Received::Attached { answer, .. }) = hub.handle_message(number, &edge.attach_message())
    else {
        panic!("not attached");
    };
    edge.handle_bus_message(&answer, Millis(0))
        .expect("attached");
    while edge.poll_frame(Millis(0)).is_some() {}
    (number, edge)
}

fn uri() -> Uri {
    Uri::new("note://some/document", 256).expect("a URI")
}
