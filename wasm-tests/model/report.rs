use std::fmt::Write;

use crate::{run::trace, search::Failure};

/// What a reader needs to see the failure: the promise, the shrunk schedule and its trace.
pub(crate) fn report(failure: &Failure) -> String {
    let Failure {
        seed,
        violation,
        schedule,
    } = failure;
    let mut out = format!(
        "seed {seed} breaks a promise: {}\n  {}\n\nshrunk to {} steps of a world with {:?}:\n",
        violation.promise,
        violation.how,
        schedule.steps.len(),
        schedule.setup,
    );
    for step in &schedule.steps {
        let _ = writeln!(out, "  {step:?}");
    }
    out.push_str("\ntrace:\n");
    for line in trace(schedule).0 {
        out.push_str(&line);
        out.push('\n');
    }
    out
}
