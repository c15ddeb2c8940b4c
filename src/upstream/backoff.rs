use crate::{
    clock::Millis,
    seeded::{self, Bug},
};

/// How long to wait before the next attempt to reach a bus that has been away for so long:
/// any span between the shortest and a ceiling, drawn with `random` from [0, 1).
///
/// The ceiling grows with the absence alone, not with the number of attempts: edges that lost the
/// same bus come back spread over it, whenever each of them noticed.
pub(super) fn wait(away: Millis, is_overloaded: bool, random: f64) -> Millis {
    let ceiling = if is_overloaded || seeded::has(Bug::WaitsTooLong) {
        LONGEST
    } else {
        (away.0 / SHARE).clamp(SHORT, LONGEST)
    };
    Millis(SHORTEST + share(ceiling - SHORTEST, random))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "spans are far below 2^53, and the cast saturates"
)]
fn share(span: u64, random: f64) -> u64 {
    (span as f64 * random.clamp(0.0, 1.0)) as u64
}

/// Of the time that the bus has been away, the wait is at most one in so many.
const SHARE: u64 = 20;
const SHORTEST: u64 = 100;
/// A bus that was away for up to half a minute is found within two seconds of its return.
const SHORT: u64 = 1_800;
const LONGEST: u64 = 30_000;
