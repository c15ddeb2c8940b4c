use crate::{clock::Millis, events::webhook::schedule::with_jitter};

/// When something may be tried again that has failed.
#[derive(Debug, Default)]
pub(in super::super) struct RetryBackoff {
    not_before: Millis,
    /// The failures in a row.
    failures: u32,
}

impl RetryBackoff {
    /// Returns when the next attempt may begin.
    pub(in super::super) fn until(&self) -> Millis {
        self.not_before
    }

    /// Handles a failure. Attempts that fail before the next one may begin count as one.
    pub(in super::super) fn fail(&mut self, now: Millis, random: f64) {
        if now < self.not_before {
            return;
        }
        let wait = MIN_WAIT.0 << self.failures.min(MAX_DOUBLINGS);
        self.failures = self.failures.saturating_add(1);
        self.not_before = now + with_jitter(Millis(wait), random);
    }

    /// Lets the next attempt begin now.
    pub(in super::super) fn end_wait(&mut self) {
        self.not_before = Millis(0);
    }

    /// Handles a success.
    pub(in super::super) fn succeed(&mut self) {
        self.failures = 0;
    }
}

/// The wait after the first failure. It doubles with each further one, at most this many times.
const MIN_WAIT: Millis = Millis(1_000);
/// The wait doubles with each failure, at most this number of times.
const MAX_DOUBLINGS: u32 = 6;
