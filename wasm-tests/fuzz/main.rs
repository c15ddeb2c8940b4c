//! Every stored crasher, and a short run of each target. `npm run check:fuzz` runs them for a given
//! time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "a failure is reported by panicking, and the search on demand uses more"
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

#[test]
fn every_stored_crasher_is_survived() {
    for target in target::ALL {
        for (name, bytes) in crashers::of(target.name) {
            println!("{} {name}", target.name);
            (target.run)(&bytes);
        }
    }
}

#[test]
fn each_crasher_has_a_target() {
    let names: Vec<_> = target::ALL.iter().map(|target| target.name).collect();
    for folder in crashers::folders() {
        assert!(names.contains(&folder.as_str()), "{folder} is no target");
    }
}

#[test]
fn each_target_survives_hundreds_of_inputs() {
    for target in target::ALL {
        if let Err(found) = target.search(256, any::rng()) {
            let (why, shown) = (&found.why, found.shown());
            panic!("{}: {why}\n{shown:?}\n{}", target.name, any::advice());
        }
    }
}
