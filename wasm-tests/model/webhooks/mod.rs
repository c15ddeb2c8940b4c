//! The life of a deliverer of webhooks: a host that crashes anywhere, a store that survives,
//! endpoints that fail and vanish, and a judge that knows what was promised.

mod disk;
mod endpoint;
mod judge;
mod log;
mod matching;
mod plan;
#[cfg(feature = "planted")]
mod planted;
#[path = "../../core/events/webhook/stored.rs"]
mod stored;
mod subscriber;
mod world;

use judge::Tally;
use plan::Plan;
use world::World;

/// Nothing is even abandoned: the endpoints fail a third of all messages, but none always.
#[test]
fn ten_thousand_occurrences_outlast_crashes_and_an_hour_without_endpoints() {
    let tally = run(&Plan::great());
    assert_eq!(tally.published, 10_000);
    assert!(tally.crashes > 100, "{tally:?}");
    assert!(tally.failures * 3 > tally.accepted, "{tally:?}");
}

#[test]
fn a_few_occurrences_outlast_outages() {
    for seed in 0..SEEDS {
        run(&Plan::quiet(seed));
    }
}

#[test]
fn what_hostile_endpoints_do_not_accept_is_reported_as_a_gap() {
    let mut abandoned = 0;
    for seed in 0..SEEDS {
        abandoned += run(&Plan::hostile(seed)).abandoned;
    }
    assert!(abandoned > 0, "no endpoint was hostile enough");
}

/// Runs a world, in which every promise has to hold.
fn run(plan: &Plan) -> Tally {
    let tally = World::run(plan);
    assert_eq!(
        tally.lost, 0,
        "what is not delivered is reported as a gap: {tally:?}"
    );
    assert!(
        !plan.is_gentle() || tally.abandoned == 0,
        "an endpoint that accepts messages gets all of them: {tally:?}"
    );
    tally
}

const SEEDS: u64 = 300;
