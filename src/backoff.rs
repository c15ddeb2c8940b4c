//! How long to wait before something is tried again that failed: any span between the shortest and a ceiling, drawn with
//! `random` from [0, 1), so that many who failed at the same moment come back spread over it.

use crate::clock::Millis;

/// Before the next attempt to reach a bus that has been away for so long.
///
/// The ceiling grows with the absence alone, not with the number of attempts: edges that lost the
/// same bus come back spread over it, whenever each of them noticed.
pub(crate) fn after_absence(away: Millis, is_overloaded: bool, random: f64) -> Millis {
    let ceiling = if is_overloaded {
        LONGEST
    } else {
        (away.0 / SHARE).clamp(SHORT, LONGEST)
    };
    within(ceiling, random)
}

/// Before the next call between a bus and its shard, after so many that failed in a row.
///
/// One that is overloaded is not called again soon. Any other wait is half as long as a stream waits until it is attached: one that is
/// opened at a shard meanwhile is still there when the root is found.
pub(crate) fn after_failures(failures: u32, is_overloaded: bool, random: f64) -> Millis {
    let doubled = SHORTEST << failures.min(MOST_DOUBLINGS);
    within(if is_overloaded { OVERLOADED } else { doubled }, random)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "spans are far below 2^53, and the cast saturates"
)]
fn within(ceiling: u64, random: f64) -> Millis {
    let span = (ceiling - SHORTEST) as f64;
    Millis(SHORTEST + (span * random.clamp(0.0, 1.0)) as u64)
}

const SHORTEST: u64 = 100;
/// Of the time that the bus has been away, the wait is at most one in so many.
const SHARE: u64 = 20;
/// A bus that was away for up to half a minute is found within two seconds of its return.
const SHORT: u64 = 1_800;
const LONGEST: u64 = 30_000;
/// Up to 1.6 s: a stream is refused that is not attached within 3 s.
const MOST_DOUBLINGS: u32 = 4;
const OVERLOADED: u64 = 6_400;
