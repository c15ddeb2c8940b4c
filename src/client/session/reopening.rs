use crate::{client::backoff::Backoff, clock::Millis};

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

    pub(super) fn has_streamed(&self) -> bool {
        self.has_streamed
    }

    pub(super) fn handle_open(&mut self) {
        self.failures = 0;
        self.has_streamed = true;
    }

    pub(super) fn handle_event(&mut self) {
        self.backoff.reset();
    }

    /// Handles the loss of the stream; `asked` is the wait that the server asked for. Returns how
    /// long to wait before the next attempt; `None` if there is none.
    pub(super) fn next_wait(&mut self, asked: Option<Millis>) -> Option<Millis> {
        self.failures += 1;
        let may_reopen = self.has_streamed && self.failures <= MAX_FAILURES;
        may_reopen.then(|| asked.unwrap_or_else(|| self.backoff.next_wait()))
    }
}

/// Consecutive failed attempts to reopen the stream before the session is given up.
const MAX_FAILURES: u32 = 5;
