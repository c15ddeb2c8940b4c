//! How long edges, shards and the bus wait before they call each other again: any span between the
//! shortest and a ceiling, drawn with `random` from [0, 1), so that peers that failed at the same
//! time spread their retries. Clients and webhooks have backoffs for their own peers.

use crate::clock::Millis;

/// Returns the wait before the next attempt to reach a bus that has been unavailable for this long.
///
/// The ceiling grows with the outage alone, not with the number of attempts: the edges of one bus
/// spread their return, whenever each of them noticed the outage.
pub(crate) fn after_absence(away: Millis, is_overloaded: bool, random: f64) -> Millis {
    let ceiling = if is_overloaded {
        MAX_CEILING
    } else {
        (away.0 / SHARE).clamp(MIN_CEILING, MAX_CEILING)
    };
    within(ceiling, random)
}

/// Returns the wait before the next call between a bus and its shard, after this many failures in a
/// row.
///
/// An overloaded peer gets a longer pause. Any other wait is half as long as a stream waits to be
/// attached: a stream that is opened at a shard meanwhile is still there when the root is reached.
pub(crate) fn after_failures(failures: u32, is_overloaded: bool, random: f64) -> Millis {
    let doubled = MIN << failures.min(MAX_DOUBLINGS);
    within(
        if is_overloaded {
            OVERLOADED_CEILING
        } else {
            doubled
        },
        random,
    )
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "spans are far below 2^53, and the cast saturates"
)]
fn within(ceiling: u64, random: f64) -> Millis {
    let span = (ceiling - MIN) as f64;
    Millis(MIN + (span * random.clamp(0.0, 1.0)) as u64)
}

/// The shortest wait in milliseconds.
const MIN: u64 = 100;
/// The wait is at most this fraction (1/n) of the time that the bus has been unavailable.
const SHARE: u64 = 20;
/// The lowest ceiling in milliseconds. With it, a bus that was unavailable for up to half a minute
/// is found within two seconds of its return.
const MIN_CEILING: u64 = 1_800;
/// The highest ceiling in milliseconds, and that for a bus that is overloaded.
const MAX_CEILING: u64 = 30_000;
/// The wait doubles with each failure, up to 1.6 s: a stream is refused that is not attached within
/// 3 s.
const MAX_DOUBLINGS: u32 = 4;
/// The ceiling of the wait for a peer that is overloaded, in milliseconds.
const OVERLOADED_CEILING: u64 = 6_400;
