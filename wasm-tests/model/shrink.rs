use crate::{
    run::run,
    schedule::{Schedule, Setup, Step},
};

/// The shortest and simplest schedule found that breaks the same promise.
pub(crate) fn shrink(schedule: &Schedule, promise: &str) -> Schedule {
    let mut best = schedule.clone();
    loop {
        let before = (best.steps.clone(), format!("{:?}", best.setup));
        drop_steps(&mut best, promise);
        simplify_setup(&mut best, promise);
        simplify_steps(&mut best, promise);
        if before == (best.steps.clone(), format!("{:?}", best.setup)) {
            return best;
        }
    }
}

/// Leaves out ever smaller runs of steps.
fn drop_steps(best: &mut Schedule, promise: &str) {
    let mut size = best.steps.len().div_ceil(2);
    while size > 0 {
        let mut from = 0;
        while from < best.steps.len() {
            let to = (from + size).min(best.steps.len());
            let mut shorter = best.clone();
            shorter.steps.drain(from..to);
            if !keep(best, shorter, promise) {
                from += size;
            }
        }
        size /= 2;
    }
}

fn simplify_setup(best: &mut Schedule, promise: &str) {
    let simpler: [fn(&mut Setup); 15] = [
        |setup| setup.holds = false,
        |setup| setup.probes_bus = false,
        |setup| setup.keeps_alive = false,
        |setup| setup.omits_previous = false,
        |setup| setup.window = 0,
        |setup| setup.keys = 0,
        |setup| setup.has_shards = false,
        |setup| setup.write_probe = 0,
        |setup| setup.budget = 0,
        |setup| setup.shares = false,
        |setup| setup.has_bad_requests = false,
        |setup| setup.authorizes = false,
        |setup| setup.has_upstream_ids = false,
        |setup| setup.bounds = 0,
        |setup| setup.room = 0,
    ];
    for simplify in simpler {
        let mut simple = best.clone();
        simplify(&mut simple.setup);
        keep(best, simple, promise);
    }
}

/// Makes each number of each step as small as possible.
fn simplify_steps(best: &mut Schedule, promise: &str) {
    let numbers: [fn(&mut Step) -> &mut u8; 3] = [
        |step| &mut step.who,
        |step| &mut step.what,
        |step| &mut step.spin,
    ];
    for at in 0..best.steps.len() {
        for number in numbers {
            for smaller in 0..16 {
                let mut simple = best.clone();
                let value = number(&mut simple.steps[at]);
                if *value <= smaller {
                    break;
                }
                *value = smaller;
                if keep(best, simple, promise) {
                    break;
                }
            }
        }
    }
}

/// Takes the other schedule if it still breaks the promise.
fn keep(best: &mut Schedule, other: Schedule, promise: &str) -> bool {
    let breaks = run(&other).is_err_and(|violation| violation.promise == promise);
    if breaks {
        *best = other;
    }
    breaks
}
