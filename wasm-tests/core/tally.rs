use std::sync::Arc;

use mcp_listen::{
    bus::{Bus, Mark, Position},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::ServerStream,
    tally::{BOUNDS, Tally},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::follow::Publish as _;
use crate::{
    alone::Alone,
    any::{id, updated, uri},
    follow,
};

/// 1970 is so long before the clock that edges are told.
const EPOCH: Millis = Millis(1_700_000_000_000);

fn filter() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("a")],
        ..SubscriptionFilter::default()
    }
}

/// An edge that is attached to a bus, and counted.
fn attached(bus: &mut Bus, tally: &Arc<Tally>) -> Alone {
    let stream = ServerStream::new(id("1"), filter(), Millis(0), Millis(0));
    let mut edge = Alone::counted(stream, tally.clone(), EPOCH);
    let number = bus.connect();
    let reply = follow::taken(bus, number, &edge.attach_message());
    let answer = follow::answers(bus, reply, &[]).remove(0);
    edge.handle_bus_message(&answer, Millis(0)).unwrap();
    write(&mut edge, Millis(0));
    edge
}

fn bus() -> Bus {
    Bus::new(Mark {
        epoch: "e".into(),
        position: Position(0),
    })
}

/// Publishes at a moment of the edges' clock.
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
fn events_notifications_and_what_collapsed_are_counted_for_all_streams_together() {
    let (mut bus, tally) = (bus(), Arc::default());
    let mut edges = [attached(&mut bus, &tally), attached(&mut bus, &tally)];
    for event in [updated("a"), updated("a"), updated("b"), updated("a")] {
        for delivery in bus.publish(&event).deliveries {
            for edge in &mut edges {
                let taken = edge.handle_bus_message(&delivery.message, Millis(1));
                taken.unwrap();
            }
        }
    }
    let written: usize = edges.iter_mut().map(|edge| write(edge, Millis(1))).sum();
    let counted = tally.read();
    assert_eq!(written, 2);
    assert_eq!(
        (counted.events, counted.frames, counted.collapsed),
        (6, 2, 4)
    );
    assert_eq!(counted.waits, [0; 7], "nobody said when it was published");
}

#[test]
fn a_notification_counts_from_the_publish_of_the_first_event_that_it_tells_of() {
    let tally = Arc::<Tally>::default();
    for (place, Millis(bound)) in BOUNDS.into_iter().enumerate() {
        for (wait, class) in [(bound, place), (bound + 1, place + 1)] {
            let mut bus = bus();
            let mut edge = attached(&mut bus, &tally);
            let (before, waited) = (tally.read().waits, tally.read().waited);
            publish(&mut bus, &mut edge, &updated("a"), 10);
            publish(&mut bus, &mut edge, &updated("a"), 11);
            assert_eq!(write(&mut edge, Millis(10 + wait)), 1);
            let mut after = before;
            after[class] += 1;
            assert_eq!(tally.read().waits, after, "{wait} ms");
            assert_eq!(tally.read().waited, waited + wait, "the sum");
        }
    }
}

#[test]
fn what_is_made_up_for_is_no_event_and_has_no_publish() {
    let (mut bus, tally) = (bus(), Arc::default());
    let mut edge = attached(&mut bus, &tally);
    edge.miss();
    assert_eq!(write(&mut edge, Millis(50)), 2);
    let counted = tally.read();
    assert_eq!(
        (counted.events, counted.frames, counted.waits),
        (0, 2, [0; 7])
    );
}

#[test]
fn a_clock_that_is_behind_the_one_of_the_bus_counts_as_no_time() {
    let (mut bus, tally) = (bus(), Arc::default());
    let mut edge = attached(&mut bus, &tally);
    publish(&mut bus, &mut edge, &updated("a"), 1_000);
    assert_eq!(write(&mut edge, Millis(5)), 1);
    assert_eq!(tally.read().waits, [1, 0, 0, 0, 0, 0, 0]);
}
