use alloc::string::String;
use core::time::Duration;

use crate::{clock::Millis, sse::Bounds, vocabulary::limits::Limits};

/// Options of a client's subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionOptions {
    /// The client's `clientInfo`, as compact JSON; `None` names this crate.
    pub client_info: Option<String>,
    /// How long to wait for the acknowledgment, or for the next response in a session that is
    /// being opened. Default 30 s; zero waits without a limit. An open stream has no such limit
    /// (2026-07-28, Cancellation: Timeouts).
    pub acknowledgment: Duration,
    /// How long an open stream may be silent, without even a keep-alive. Default 60 s; zero
    /// disables the limit.
    pub silence: Duration,
    /// How many bytes of a line and of an event to buffer. Default 1 MiB each.
    pub bounds: Bounds,
    /// Bounds on the ids, URIs and tasks that a server may name, and on the bytes of a response
    /// that is not a stream.
    pub limits: Limits,
}

impl Default for SubscriptionOptions {
    fn default() -> Self {
        Self {
            client_info: None,
            acknowledgment: Duration::from_secs(30),
            silence: Duration::from_mins(1),
            bounds: Bounds {
                line_bytes: 1 << 20,
                event_bytes: 1 << 20,
            },
            limits: Limits::default(),
        }
    }
}

impl SubscriptionOptions {
    /// Returns when to give up on an acknowledgment awaited since `since`.
    pub(super) fn late_after(&self, since: Millis) -> Option<Millis> {
        after(since, self.acknowledgment)
    }

    /// Returns when to give up on a response to `server/discover` on a channel, asked at `since`.
    pub(super) fn probed_until(&self, since: Millis) -> Millis {
        let limit = match self.acknowledgment {
            Duration::ZERO => MAX_PROBE,
            acknowledgment => MAX_PROBE.min(acknowledgment / 2),
        };
        since + limit.into()
    }

    /// Returns when to give up on a stream that last sent something at `last`.
    pub(super) fn silent_after(&self, last: Millis) -> Option<Millis> {
        after(last, self.silence)
    }
}

/// A limit of zero disables it.
fn after(since: Millis, limit: Duration) -> Option<Millis> {
    (!limit.is_zero()).then(|| since + limit.into())
}

/// The longest time that a server may take to respond to a probe.
const MAX_PROBE: Duration = Duration::from_secs(5);
