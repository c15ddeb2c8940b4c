use crate::clock::Millis;

/// How long to wait after the call failed so many times in a row, spread by `random` in [0, 1):
/// many objects may call the same one. One that is overloaded is not called again soon. Any other pause is shorter than an
/// edge waits for an answer: who attaches at a shard while that pauses is still there when the root is found.
pub(super) fn pause(failures: u32, is_overloaded: bool, random: f64) -> Millis {
    let doubled = SHORTEST << failures.min(MOST_DOUBLINGS);
    let ceiling = if is_overloaded { OVERLOADED } else { doubled };
    Millis(SHORTEST + scaled(ceiling - SHORTEST, random))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "spans stay far below 2^53 ms, and the cast saturates"
)]
fn scaled(span: u64, random: f64) -> u64 {
    (span as f64 * random) as u64
}

const SHORTEST: u64 = 100;
const MOST_DOUBLINGS: u32 = 5;
const OVERLOADED: u64 = 6_400;
