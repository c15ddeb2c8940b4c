//! When a message is sent again.

use crate::clock::Millis;

/// Returns when a message is due again that has failed `attempts` times, first at `since`.
/// `retry_after` is the wait that the endpoint asked for: it is honored within [`WINDOW`].
pub(super) fn again_at(
    attempts: u32,
    since: Millis,
    retry_after: Option<Millis>,
    now: Millis,
    random: f64,
) -> Millis {
    let wait = WAITS.get(attempts.saturating_sub(1) as usize);
    let own = now + spread(*wait.unwrap_or(&LONGEST), random);
    let asked = now + retry_after.unwrap_or_default();
    own.max(asked.min(since + WINDOW))
}

/// Returns a span that is up to a fifth shorter or longer, by `random` from [0, 1).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "spans are far below 2^53, and the cast saturates"
)]
pub(super) fn spread(span: Millis, random: f64) -> Millis {
    Millis((span.0 as f64 * (0.8 + 0.4 * random.clamp(0.0, 1.0))) as u64)
}

/// After this many failures of one message in a row it is abandoned.
pub(super) const MAX_ATTEMPTS: u32 = 5;
/// After this many failures of any messages in a row, only one message at a time is tried.
pub(super) const MAX_FAILURES: u32 = 5;
/// The wait between such tries.
pub(super) const PROBE: Millis = Millis(48_000);
/// An endpoint may answer 503 for this long after a grant: it has to store the grant first.
pub(super) const SETTLING: Millis = Millis(60_000);
/// The wait between the answer to a grant and the first message.
pub(super) const PAUSE: Millis = Millis(1_000);
/// A subscription without an expiry ends after failures for this long.
pub(super) const PATIENCE: Millis = Millis(259_200_000);
/// How long messages are signed with a replaced secret too.
pub(super) const OVERLAP: Millis = Millis(900_000);
/// How long the consent of an endpoint holds.
pub(super) const CONSENT: Millis = Millis(86_400_000);
/// The wait after a failed check of an authorization.
pub(super) const RECHECK: Millis = Millis(60_000);

const WAITS: [Millis; 4] = [Millis(5_000), Millis(30_000), Millis(120_000), LONGEST];
const LONGEST: Millis = Millis(480_000);
/// The time from the first attempt within which `Retry-After` is honored.
const WINDOW: Millis = Millis(900_000);
