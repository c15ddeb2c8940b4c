use std::sync::Arc;

use mcp_listen::{
    bus::Bus,
    clock::Millis,
    event::ServerEvent,
    fanout::{Fanout, StreamId},
    filter::SubscriptionFilter,
    listen::ServerStream,
    metrics::{BOUNDS, Metrics},
    position::{Cursor, Position},
    scope::{Name, Scope},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::follow::Publish as _;
use crate::{
    alone::Alone,
    any::{id, updated, uri},
    fanout::{TOOLS, streams},
    follow,
};

/// The offset of the Unix clock that edges are given.
const EPOCH: Millis = Millis(1_700_000_000_000);

fn filter() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("a")],
        ..SubscriptionFilter::default()
    }
}

/// An edge that is attached to a bus, and counted.
fn attached(bus: &mut Bus, metrics: &Arc<Metrics>) -> Alone {
    let stream = ServerStream::new(id("1"), filter(), Millis(0), Millis(0));
    let mut edge = Alone::counted(stream, metrics.clone(), EPOCH);
    let number = bus.connect();
    let reply = follow::accepted(bus, number, &edge.attach_message());
    let frame = reply.finish(bus).remove(0);
    edge.handle_bus_message(&frame, Millis(0)).unwrap();
    write(&mut edge, Millis(0));
    edge
}

fn bus() -> Bus {
    Bus::new(Cursor {
        epoch: "e".into(),
        position: Position(0),
    })
}

/// Publishes at a time of the edges' clock.
fn publish(bus: &mut Bus, edge: &mut Alone, event: &ServerEvent, at: u64) {
    for delivery in bus.publish_at(event, Some(EPOCH + Millis(at))).deliveries {
        edge.handle_bus_message(&delivery.message, Millis(at))
            .unwrap();
    }
}

fn write(edge: &mut Alone, now: Millis) -> usize {
    std::iter::from_fn(|| edge.poll_frame(now)).count()
}

#[test]
fn events_notifications_and_collapses_are_counted_over_all_streams() {
    let (mut bus, metrics) = (bus(), Arc::default());
    let mut edges = [attached(&mut bus, &metrics), attached(&mut bus, &metrics)];
    for event in [updated("a"), updated("a"), updated("b"), updated("a")] {
        for delivery in bus.publish(&event).deliveries {
            for edge in &mut edges {
                let received = edge.handle_bus_message(&delivery.message, Millis(1));
                received.unwrap();
            }
        }
    }
    let written: usize = edges.iter_mut().map(|edge| write(edge, Millis(1))).sum();
    let counted = metrics.read();
    assert_eq!(written, 2);
    assert_eq!(
        (counted.events, counted.frames, counted.collapsed),
        (6, 2, 4)
    );
    assert_eq!(counted.waits, [0; 7], "the time of the publish is unknown");
}

#[test]
fn the_wait_counts_from_the_first_event_of_a_notification() {
    let metrics = Arc::<Metrics>::default();
    for (place, Millis(bound)) in BOUNDS.into_iter().enumerate() {
        for (wait, class) in [(bound, place), (bound + 1, place + 1)] {
            let mut bus = bus();
            let mut edge = attached(&mut bus, &metrics);
            let (before, waited) = (metrics.read().waits, metrics.read().waited);
            publish(&mut bus, &mut edge, &updated("a"), 10);
            publish(&mut bus, &mut edge, &updated("a"), 11);
            assert_eq!(write(&mut edge, Millis(10 + wait)), 1);
            let mut after = before;
            after[class] += 1;
            assert_eq!(metrics.read().waits, after, "{wait} ms");
            assert_eq!(metrics.read().waited, waited + wait, "the sum");
        }
    }
}

#[test]
fn cues_after_a_gap_are_not_counted_as_events() {
    let (mut bus, metrics) = (bus(), Arc::default());
    let mut edge = attached(&mut bus, &metrics);
    edge.miss();
    assert_eq!(write(&mut edge, Millis(50)), 2);
    let counted = metrics.read();
    assert_eq!(
        (counted.events, counted.frames, counted.waits),
        (0, 2, [0; 7])
    );
}

#[test]
fn a_clock_behind_the_bus_counts_as_zero_wait() {
    let (mut bus, metrics) = (bus(), Arc::default());
    let mut edge = attached(&mut bus, &metrics);
    publish(&mut bus, &mut edge, &updated("a"), 1_000);
    assert_eq!(write(&mut edge, Millis(5)), 1);
    assert_eq!(metrics.read().waits, [1, 0, 0, 0, 0, 0, 0]);
}

/// Adds a stream of the caller "ann", counted and acknowledged.
fn opened(fanout: &mut Fanout, metrics: &Arc<Metrics>) -> StreamId {
    let mut stream = ServerStream::new(id("1"), filter(), Millis(0), Millis(0));
    stream.count_in(metrics.clone());
    stream.scope_to(Scope {
        principals: vec![Name::new("ann").unwrap()],
        ..Scope::default()
    });
    let opened = fanout.open(stream, Millis(0));
    fanout.handle_attached(opened, Millis(0));
    fanout.poll(opened, Millis(0));
    opened
}

/// A host writes to all bodies before it reports those without room: time has passed by then.
#[test]
fn a_notification_without_room_is_uncounted_with_the_wait_that_was_counted() {
    let (mut fanout, metrics) = (Fanout::default(), Arc::default());
    let both = [(); 2].map(|()| opened(&mut fanout, &metrics));
    let missed = streams(&fanout.publish(TOOLS, Millis(0), Millis(5)));
    assert_eq!(missed, both);
    fanout.handle_missed(missed, Millis(6));
    let counted = metrics.read();
    assert_eq!((counted.events, counted.frames), (2, 0));
    assert_eq!((counted.waits, counted.waited), ([0; 7], 0));
    for stream in both {
        fanout.poll(stream, Millis(30));
    }
    let counted = metrics.read();
    assert_eq!((counted.events, counted.frames), (2, 2));
    assert_eq!((counted.waits, counted.waited), ([0, 0, 2, 0, 0, 0, 0], 60));
}

#[test]
fn events_after_a_disconnect_are_not_uncounted() {
    let (mut fanout, metrics) = (Fanout::default(), Arc::default());
    let gone = opened(&mut fanout, &metrics);
    let principal = Name::new("ann").unwrap();
    let events = vec![updated("a"), ServerEvent::Disconnect { principal }, TOOLS];
    let missed = streams(&fanout.publish_all(events, Millis(0), Millis(0)));
    assert_eq!(missed, [gone]);
    fanout.handle_missed(missed, Millis(0));
    let counted = metrics.read();
    assert_eq!((counted.events, counted.frames), (0, 0));
    assert_eq!((counted.waits, counted.waited), ([0; 7], 0));
}
