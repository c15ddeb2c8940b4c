//! Searches for inputs that break the core, for a given time: `npm run check:fuzz -- --seconds 60`.
//! A finding is shrunk, written next to the known crashers, and ends the run with status 1.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "a failure is reported by panicking"
)]

#[path = "../core/any.rs"]
mod any;
mod crashers;
mod frames;
#[path = "../core/host_step.rs"]
mod host_step;
mod inputs;
mod json;
mod lives;
mod protocol;
mod served;
mod strict;
mod target;
mod wires;

use std::{
    env, panic,
    process::ExitCode,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use proptest::test_runner::{RngAlgorithm, TestRng};
use target::Target;

fn main() -> ExitCode {
    let Some(seconds) = seconds() else {
        println!("usage: npm run check:fuzz -- [--seconds N]");
        return ExitCode::from(2);
    };
    // The panic is reported together with the shrunk input.
    panic::set_hook(Box::new(|_| {}));
    println!(
        "# {} targets, {seconds} seconds for all of them",
        target::ALL.len()
    );
    let shares = u32::try_from(target::ALL.len()).unwrap();
    let share = Duration::from_secs(seconds) / shares;
    let mut outcome = ExitCode::SUCCESS;
    for (number, target) in (1..).zip(target::ALL) {
        match check(target, share) {
            Ok(done) => println!("ok {number} - {}: {done}", target.name),
            Err(why) => {
                println!("not ok {number} - {}: {why}", target.name);
                outcome = ExitCode::FAILURE;
            }
        }
    }
    if outcome == ExitCode::SUCCESS {
        println!(
            "{} targets, {seconds} seconds: nothing found",
            target::ALL.len()
        );
    }
    outcome
}

/// Tries the known crashers, then new inputs until the time is over. Reports what was tried, or
/// what was found.
fn check(target: &Target, share: Duration) -> Result<String, String> {
    let known = crashers::of(target.name);
    for (name, bytes) in &known {
        if panic::catch_unwind(|| (target.run)(bytes)).is_err() {
            return Err(format!("the known crasher {name} is back"));
        }
    }
    let (started, mut inputs) = (Instant::now(), 0);
    while inputs == 0 || started.elapsed() < share {
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed());
        if let Err(found) = target.search(ROUND, rng) {
            let path = crashers::keep(target.name, &found.bytes);
            let (why, shown) = (found.why.replace('\n', " "), found.shown());
            return Err(format!(
                "{why}\n  # {shown}\n  # kept as {path}: give it a name"
            ));
        }
        inputs += ROUND;
    }
    Ok(format!(
        "{} known crashers, {inputs} new inputs",
        known.len()
    ))
}

/// Returns another seed for each round.
fn seed() -> [u8; 32] {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut seed = [0; 32];
    seed[..16].copy_from_slice(&now.as_nanos().to_le_bytes());
    seed
}

fn seconds() -> Option<u64> {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some(60),
        ["--seconds", number] => number.parse().ok(),
        _ => None,
    }
}

/// The number of inputs between two checks of the clock.
const ROUND: u32 = 32;
