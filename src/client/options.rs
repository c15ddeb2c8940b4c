use alloc::string::String;
use core::time::Duration;

use crate::{clock::Millis, sse::Bounds, vocabulary::limits::Limits};

/// How a client listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What the client is, compact JSON; `None`: this crate.
    pub client_info: Option<String>,
    /// How long the acknowledgment is awaited (default 30 s; zero: for ever). The open stream has no
    /// such limit (2026-07-28, Cancellation: Timeouts).
    pub acknowledgment: Duration,
    /// How long an open stream may be silent, keep-alives being none (default 60 s; zero: for ever).
    pub silence: Duration,
    /// How much of an event stream is kept (default 1 MiB each).
    pub bounds: Bounds,
    /// The ids, URIs and tasks that a server may name, and the bytes of an answer that is no stream.
    pub limits: Limits,
}

impl Default for Options {
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

impl Options {
    /// When an acknowledgment is too late that is awaited since then.
    pub(super) fn late_after(&self, since: Millis) -> Option<Millis> {
        after(since, self.acknowledgment)
    }

    /// When a stream has been silent for too long that was heard last then.
    pub(super) fn silent_after(&self, heard: Millis) -> Option<Millis> {
        after(heard, self.silence)
    }
}

/// A limit of zero is none.
fn after(since: Millis, limit: Duration) -> Option<Millis> {
    (!limit.is_zero()).then(|| since + limit.into())
}
