//! When a message is sent again.

use crate::clock::Millis;

/// Returns when the next attempt is due for a message that has failed `attempts` times, first sent
/// at `since`. `retry_after` is the wait that the endpoint asked for: it is honored within
/// [`RETRY_WINDOW`].
pub(super) fn next_attempt_at(
    attempts: u32,
    since: Millis,
    retry_after: Option<Millis>,
    now: Millis,
    random: f64,
) -> Millis {
    let wait = RETRY_WAITS.get(attempts.saturating_sub(1) as usize);
    let own = now + with_jitter(*wait.unwrap_or(&MAX_RETRY_WAIT), random);
    let asked = now + retry_after.unwrap_or_default();
    own.max(asked.min(since + RETRY_WINDOW))
}

/// Returns a span that is up to a fifth shorter or longer, by `random` from [0, 1).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "spans are far below 2^53, and the cast saturates"
)]
pub(super) fn with_jitter(span: Millis, random: f64) -> Millis {
    Millis((span.0 as f64 * (0.8 + 0.4 * random.clamp(0.0, 1.0))) as u64)
}

/// After this many failures of one message in a row it is abandoned.
pub(super) const MAX_ATTEMPTS: u32 = 5;
/// After this many failures of any messages in a row the endpoint is down: one message at a time is
/// sent as a probe.
pub(super) const MAX_FAILURES: u32 = 5;
/// The wait between two probes.
pub(super) const PROBE_INTERVAL: Millis = Millis(48_000);
/// The time after a subscribe or renewal in which a 503 does not count as a failure of the
/// endpoint: its server may not have stored the subscription yet.
pub(super) const SUBSCRIBE_GRACE: Millis = Millis(60_000);
/// The wait between the response to a subscribe and the first message.
pub(super) const FIRST_MESSAGE_DELAY: Millis = Millis(1_000);
/// A subscription without an expiry ends after its endpoint has failed for this long.
pub(super) const MAX_FAILING: Millis = Millis(259_200_000);
/// How long messages are signed with a replaced secret too.
pub(super) const SECRET_OVERLAP: Millis = Millis(900_000);
/// How long the consent of an endpoint is valid.
pub(super) const CONSENT_TTL: Millis = Millis(86_400_000);
/// The wait after a message that the host could not send.
pub(super) const UNSENT_RETRY: Millis = Millis(60_000);
/// The wait after a failed check of an authorization.
pub(super) const AUTHORIZE_RETRY: Millis = Millis(60_000);

/// The waits after the first failures of a message.
const RETRY_WAITS: [Millis; 4] = [
    Millis(5_000),
    Millis(30_000),
    Millis(120_000),
    MAX_RETRY_WAIT,
];
/// The wait after the fourth failure and after any further one.
const MAX_RETRY_WAIT: Millis = Millis(480_000);
/// The time from the first attempt within which `Retry-After` is honored.
const RETRY_WINDOW: Millis = Millis(900_000);
