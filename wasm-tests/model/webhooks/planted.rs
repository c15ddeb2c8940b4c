use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use mcp_listen::planted::{self, Bug, MACHINES};

use crate::{bugs::DELIVERER, check_document};

use super::{SEEDS, plan::Plan, run};

/// Each planted bug of the deliverer is found among the worlds that are always run.
#[test]
fn every_planted_bug_of_the_deliverer_is_found() {
    let machines = MACHINES.iter().filter(|(machine, _)| *machine == DELIVERER);
    let rows: String = machines
        .flat_map(|(_, bugs)| *bugs)
        .map(|(bug, what)| row(*bug, what))
        .collect();
    check_document(&rows);
}

fn row(bug: Bug, what: &str) -> String {
    planted::plant(Some(bug));
    let mut plans = (0..SEEDS).flat_map(|seed| [Plan::quiet(seed), Plan::hostile(seed)]);
    let found = plans.find_map(|plan| Some((broken_by(&plan)?, plan)));
    let Some((promise, plan)) = found else {
        panic!("not found: {what}");
    };
    let fewest = (0..plan.events).find(|events| {
        let fewer = Plan {
            events: *events,
            ..plan.clone()
        };
        broken_by(&fewer).as_ref() == Some(&promise)
    });
    planted::plant(None);
    let (events, seed) = (fewest.unwrap_or(plan.events), plan.seed);
    let world = if plan.is_gentle() { "quiet" } else { "hostile" };
    format!("| {DELIVERER} | {what} | {promise} | {world} {seed} | {events} |\n")
}

/// Returns the promise that is broken in a world.
fn broken_by(plan: &Plan) -> Option<String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| drop(run(plan))));
    outcome.err().map(|panic| promise_in(&*panic))
}

/// Returns the promise that the message of a failed assertion names.
fn promise_in(panic: &(dyn Any + Send)) -> String {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    let message = owned.or(panic.downcast_ref::<&str>().copied());
    let message = message.unwrap_or_default();
    let message = message
        .rsplit_once("failed: ")
        .map_or(message, |(_, own)| own);
    let promise = message.split(['\n', ':']).next();
    promise.unwrap_or_default().to_owned()
}
