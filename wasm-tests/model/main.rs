//! The model checker: thousands of random schedules of clients, edges, bus and network, natively.
#![cfg(not(target_arch = "wasm32"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "tests report failures by panicking"
)]

mod absence;
mod acts;
mod answer;
#[cfg(feature = "planted")]
mod bugs;
mod bus;
mod calm;
mod causes;
mod client;
mod disk;
mod driven;
mod harness_bug;
mod host;
mod invariant;
mod isolate;
mod key;
mod lease_promises;
mod ledger;
mod log;
mod mail;
mod memory;
mod network;
mod outputs;
mod owners;
mod pending;
mod post;
mod promises;
mod register;
mod replay;
mod report;
mod request;
mod root;
mod run;
mod schedule;
mod search;
mod seed;
mod session;
mod session_calls;
mod session_promises;
mod session_rows;
mod shard;
mod shrink;
mod streams;
mod table;
mod visit;
mod visits;
mod watching;
mod webhooks;
mod wire;
mod wires;
mod world;

use search::search;

#[test]
fn ten_thousand_schedules_keep_every_promise() {
    if let Err(failure) = search(0..SEEDS, || {}) {
        panic!("{}", report::report(&failure));
    }
}

/// Each planted bug is found among the seeds that are always tried.
#[cfg(feature = "planted")]
#[test]
fn every_planted_bug_is_found() {
    let table: String = bugs::BUGS
        .iter()
        .map(|(bug, what)| row(*bug, what))
        .collect();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verification.md");
    let document = std::fs::read_to_string(path).unwrap();
    assert!(
        document.contains(&table),
        "docs/verification.md should say:\n{table}"
    );
}

#[cfg(feature = "planted")]
fn row(bug: bugs::Planted, what: &str) -> String {
    let found = search(0..SEEDS, || bugs::plant(Some(bug)));
    bugs::plant(None);
    let Err(found) = found else {
        panic!("not found: {what}");
    };
    let search::Failure {
        seed,
        violation,
        schedule,
    } = *found;
    let place = match bug {
        bugs::Planted::Core(_) => "core",
        bugs::Planted::Around(_) => "around it",
    };
    let (promise, steps) = (violation.promise, schedule.steps.len());
    format!("| {place} | {what} | {promise} | {seed} | {steps} |\n")
}

const SEEDS: u64 = 10_000;
