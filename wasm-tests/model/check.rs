//! The model checker on demand: `npm run check:model -- --seeds 1000000 --from 0`. Ends with status
//! 1 and the trace if a promise is broken. In the copy that `scripts/mutants/planted.mjs` writes,
//! `--bug N` plants a bug, to look at its trace.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub,
    reason = "a failure is reported by panicking"
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
mod wire;
mod wires;
mod world;

use std::{env, process::ExitCode, time::Instant};

fn main() -> ExitCode {
    let Some(asked) = Asked::read() else {
        println!("usage: npm run check:model -- [--seeds N] [--from FIRST]");
        return ExitCode::from(2);
    };
    describe(asked.bug);
    let started = Instant::now();
    let seeds = asked.from..asked.from.saturating_add(asked.seeds);
    let events = match search::search(seeds, || plant(asked.bug)) {
        Ok(events) => events,
        Err(failure) => {
            println!("{}", report::report(&failure));
            return ExitCode::FAILURE;
        }
    };
    let Asked { from, seeds, .. } = asked;
    let took = started.elapsed().as_secs_f64();
    println!(
        "{seeds} schedules from seed {from} with {events} events kept every promise, in {took:.1} s"
    );
    ExitCode::SUCCESS
}

/// The options of the command line.
struct Asked {
    from: u64,
    seeds: u64,
    bug: Option<usize>,
}

impl Asked {
    fn read() -> Option<Self> {
        let mut asked = Self {
            from: 0,
            seeds: 1_000_000,
            bug: None,
        };
        let mut arguments = env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next()?;
            match name.as_str() {
                "--from" => asked.from = value.parse().ok()?,
                "--seeds" => asked.seeds = value.parse().ok()?,
                "--bug" => asked.bug = Some(value.parse().ok()?),
                _ => return None,
            }
        }
        asked.is_possible().then_some(asked)
    }

    #[cfg(feature = "planted")]
    fn is_possible(&self) -> bool {
        self.bug.is_none_or(|bug| bug < bugs::all().len())
    }

    #[cfg(not(feature = "planted"))]
    fn is_possible(&self) -> bool {
        self.bug.is_none()
    }
}

#[cfg(feature = "planted")]
fn plant(bug: Option<usize>) {
    bugs::plant(bug.map(|bug| bugs::all()[bug].bug));
}

#[cfg(not(feature = "planted"))]
fn plant(_: Option<usize>) {}

#[cfg(feature = "planted")]
fn describe(bug: Option<usize>) {
    if let Some(bug) = bug {
        let bugs::PlantedBug { machine, what, .. } = bugs::all()[bug];
        println!("{machine}: {what}");
    }
}

#[cfg(not(feature = "planted"))]
fn describe(_: Option<usize>) {}
