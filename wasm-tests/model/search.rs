use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use crate::{
    invariant::Violation,
    run::{run, trace},
    schedule::Schedule,
    shrink::shrink,
};

/// A seed whose schedule breaks a promise, and the shortest schedule found that breaks it too.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) seed: u64,
    pub(crate) violation: Violation,
    pub(crate) schedule: Schedule,
}

/// Returns the number of published events, or the first seed that breaks a promise. Every processor
/// takes its share of the seeds. `prepare` is called in each thread.
pub(crate) fn search(seeds: Range<u64>, prepare: impl Fn() + Sync) -> Result<u64, Box<Failure>> {
    let events = AtomicU64::new(0);
    let next = AtomicU64::new(seeds.start);
    let first = AtomicU64::new(u64::MAX);
    let search = || {
        prepare();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end.min(first.load(Ordering::Relaxed)) {
                return;
            }
            match run(&Schedule::of_seed(seed)) {
                Ok(published) => events.fetch_add(published, Ordering::Relaxed),
                Err(_) => first.fetch_min(seed, Ordering::Relaxed),
            };
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(search);
        }
    });
    let seed = first.into_inner();
    if seed >= seeds.end {
        return Ok(events.into_inner());
    }
    prepare();
    Err(Box::new(failure(seed)))
}

fn failure(seed: u64) -> Failure {
    let whole = Schedule::of_seed(seed);
    let Err(violation) = run(&whole) else {
        unreachable!("the same schedule runs the same again");
    };
    let schedule = shrink(&whole, violation.promise);
    let violation = trace(&schedule).1.err().unwrap_or(violation);
    Failure {
        seed,
        violation,
        schedule,
    }
}
