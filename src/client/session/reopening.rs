use alloc::string::String;

use crate::{
    client::{
        backoff::Backoff,
        end::{CloseReason, Loss},
    },
    clock::Millis,
};

/// Decides when to reopen the stream of a session after it was lost.
#[derive(Debug)]
pub(super) struct Reopening {
    backoff: Backoff,
    failures: u32,
    /// Whether the server has ever opened the stream.
    has_streamed: bool,
}

impl Reopening {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            backoff: Backoff::new(seed),
            failures: 0,
            has_streamed: false,
        }
    }

    pub(super) fn handle_open(&mut self) {
        self.failures = 0;
        self.has_streamed = true;
    }

    pub(super) fn handle_event(&mut self) {
        self.backoff.reset();
    }

    /// Returns how the session ends if the server refuses the stream with this status; `None` if
    /// the stream is requested again.
    pub(super) fn end_after(&self, status: u16) -> Option<CloseReason> {
        let is_final = !self.has_streamed || matches!(status, 401 | 403);
        let refused = |code| CloseReason::refused(status, code, String::new());
        match status {
            METHOD_NOT_ALLOWED => Some(refused(Some(METHOD_NOT_FOUND))),
            // The session is gone: the client may begin a new one (2025-11-25, Transports: Session
            // Management).
            404 if self.has_streamed => Some(CloseReason::Lost(Loss::Disconnected)),
            200..300 if is_final => Some(CloseReason::Lost(Loss::InvalidResponse)),
            _ => is_final.then(|| refused(None)),
        }
    }

    /// Handles the loss of the stream; `asked` is the wait that the server asked for. Returns how
    /// long to wait before the next attempt; `None` if there is none.
    pub(super) fn next_wait(&mut self, asked: Option<Millis>) -> Option<Millis> {
        self.failures += 1;
        let may_reopen = self.has_streamed && self.failures <= MAX_FAILURES;
        may_reopen.then(|| match asked {
            Some(asked) => asked.max(MIN_ASKED_WAIT),
            None => self.backoff.next_wait(),
        })
    }
}

/// Consecutive failed attempts to reopen the stream before the session is given up.
const MAX_FAILURES: u32 = 5;
/// The shortest wait that a server can ask for: it may close each stream at once.
const MIN_ASKED_WAIT: Millis = Millis(500);
const METHOD_NOT_ALLOWED: u16 = 405;
const METHOD_NOT_FOUND: i32 = -32_601;
