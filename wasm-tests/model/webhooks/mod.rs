//! The life of a deliverer of webhooks: a host that crashes anywhere, a store that survives,
//! endpoints that fail and vanish, and a judge that knows what was promised.

mod disk;
mod endpoint;
mod judge;
mod log;
mod plan;
mod subscriber;
mod world;

use plan::Plan;
use world::World;

/// Nothing is even abandoned: the endpoints fail a third of all messages, but none always.
#[test]
fn ten_thousand_occurrences_outlast_crashes_and_an_hour_without_endpoints() {
    let told = World::run(&Plan::great());
    assert_eq!(told.published, 10_000);
    assert_eq!((told.lost, told.abandoned), (0, 0), "{told:?}");
    assert!(told.crashes > 100, "{told:?}");
    assert!(told.failures * 3 > told.accepted, "{told:?}");
}

#[test]
fn a_few_occurrences_outlast_outages() {
    for seed in 0..SEEDS {
        let told = World::run(&Plan::quiet(seed));
        assert_eq!((told.lost, told.abandoned), (0, 0), "{told:?}");
    }
}

#[test]
fn what_hostile_endpoints_do_not_accept_is_reported_as_a_gap() {
    let mut abandoned = 0;
    for seed in 0..SEEDS {
        let told = World::run(&Plan::hostile(seed));
        assert_eq!(told.lost, 0, "{told:?}");
        abandoned += told.abandoned;
    }
    assert!(abandoned > 0, "no endpoint was hostile enough");
}

const SEEDS: u64 = 300;
