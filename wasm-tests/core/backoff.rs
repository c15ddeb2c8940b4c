use mcp_listen::{clock::Millis, filter::SubscriptionFilter, upstream::Timeouts};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{updated, uri},
    isolate::{Availability, World},
};

fn world() -> World {
    let filter = SubscriptionFilter {
        resource_subscriptions: vec![uri("a")],
        ..SubscriptionFilter::default()
    };
    World::of_one(filter, Timeouts::default())
}

#[test]
fn a_bus_back_after_half_a_minute_is_found_within_two_seconds() {
    for away in [50, 1_000, 10_000, 35_000] {
        for random in [0.0, 0.5, 0.999] {
            let mut world = world();
            world.random = random;
            world.availability = Availability::Down;
            world.cut();
            world.publish(&updated("a"));
            world.pass(away);
            world.availability = Availability::Open;
            world.pass(2_000);
            assert_eq!(
                world.streams[0].expected.len(),
                0,
                "away for {away} ms, drawn {random}"
            );
        }
    }
}

#[test]
fn attempts_are_spread_and_get_rarer_with_the_outage() {
    let waits = |random: f64, availability: Availability, away: u64| {
        let mut world = world();
        world.random = random;
        world.availability = availability;
        world.cut();
        world.pass(away);
        world.calls.clear();
        world.pass(120_000);
        world.calls[1].0 - world.calls[0].0
    };
    assert_eq!(waits(0.0, Availability::Down, 0), Millis(100));
    assert_eq!(waits(0.0, Availability::Down, 3_600_000), Millis(100));
    assert!(waits(0.999, Availability::Down, 30_000) <= Millis(1_800));
    assert!(waits(0.999, Availability::Down, 300_000) > Millis(14_000));
    let longest = waits(0.999, Availability::Down, 7_200_000);
    assert!(longest > Millis(29_000) && longest <= Millis(30_000));
    assert!(waits(0.999, Availability::Overloaded, 0) > Millis(29_000));
}

#[test]
fn two_thousand_edges_reconnect_spread_over_the_window() {
    let mut arrivals: Vec<Millis> = (0..2_000)
        .map(|number| {
            let mut world = world();
            world.random = f64::from(number) / 2_000.0;
            world.cut();
            world.pass(2_000);
            world.calls[0].0
        })
        .collect();
    arrivals.sort_unstable();
    let busiest = arrivals
        .windows(130)
        .map(|window| window[129] - window[0])
        .min();
    // No tenth of a second has more than 130 of them: 1,300 per second.
    assert!(busiest > Some(Millis(100)), "{busiest:?}");
    assert!(arrivals[0] >= Millis(100));
}
