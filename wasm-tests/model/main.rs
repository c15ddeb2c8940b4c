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
mod reply;
mod report;
mod request;
mod room;
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
mod shard_faults;
#[path = "../core/shard_rows.rs"]
mod shard_rows;
mod shrink;
mod socket_check;
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
    let rows: Vec<_> = bugs::all().into_iter().map(row).collect();
    let missing: Vec<_> = rows.iter().filter_map(|row| row.as_ref().err()).collect();
    assert!(missing.is_empty(), "not found: {missing:#?}");
    check_document(&rows.into_iter().flatten().collect::<String>());
}

/// The table of the documentation has these rows.
#[cfg(feature = "planted")]
fn check_document(rows: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verification.md");
    let document = std::fs::read_to_string(path).unwrap();
    assert!(
        document.contains(rows),
        "docs/verification.md should say:\n{rows}"
    );
}

#[cfg(feature = "planted")]
#[test]
fn every_planted_bug_of_a_machine_has_three_others() {
    for (machine, bugs) in mcp_listen::planted::MACHINES {
        assert!(bugs.len() >= 4, "{machine} has too few");
    }
}

/// Returns the row of a bug, or what it does if it is not found.
#[cfg(feature = "planted")]
fn row(planted: bugs::PlantedBug) -> Result<String, &'static str> {
    let bugs::PlantedBug { machine, bug, what } = planted;
    let found = search(0..SEEDS, || bugs::plant(Some(bug)));
    bugs::plant(None);
    let search::Failure {
        seed,
        violation,
        schedule,
    } = *found.err().ok_or(what)?;
    let (promise, steps) = (violation.promise, schedule.steps.len());
    Ok(format!(
        "| {machine} | {what} | {promise} | {seed} | {steps} |\n"
    ))
}

const SEEDS: u64 = 10_000;
