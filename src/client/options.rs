use alloc::string::String;

use crate::{clock::Millis, limits::Limits, sse::Bounds};

/// How a client listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What the client is, compact JSON; `None`: this crate.
    pub client_info: Option<String>,
    /// How long the acknowledgment is awaited (default 30 s; zero: for ever). The open stream has no
    /// such limit (2026-07-28, Cancellation: Timeouts).
    pub acknowledgment: Millis,
    /// How long an open stream may be silent, keep-alives being none (default 60 s; zero: for ever).
    pub silence: Millis,
    /// How much of an event stream is kept (default 1 MiB each).
    pub bounds: Bounds,
    /// The ids, URIs and tasks that a server may name, and the bytes of an answer that is no stream.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            client_info: None,
            acknowledgment: Millis(30_000),
            silence: Millis(60_000),
            bounds: Bounds {
                line_bytes: 1 << 20,
                event_bytes: 1 << 20,
            },
            limits: Limits::default(),
        }
    }
}
