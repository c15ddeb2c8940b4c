use crate::clock::Millis;

/// Keep-alives, for periods in which nothing else is written.
#[derive(Debug)]
pub(crate) struct KeepAlive {
    interval: Millis,
    written_at: Millis,
    is_due: bool,
}

impl KeepAlive {
    /// Creates a schedule with one keep-alive after each `interval` of silence; zero disables it.
    pub(crate) fn new(interval: Millis, now: Millis) -> Self {
        Self {
            interval,
            written_at: now,
            is_due: false,
        }
    }

    /// Handles a write.
    pub(crate) fn handle_written(&mut self, now: Millis) {
        self.written_at = now;
        self.is_due = false;
    }

    pub(crate) fn handle_timeout(&mut self, now: Millis) {
        self.is_due |= self.deadline().is_some_and(|at| at <= now);
    }

    /// Returns when the next one becomes due; `None` while one is due.
    pub(crate) fn deadline(&self) -> Option<Millis> {
        let waits = self.interval > Millis(0) && !self.is_due;
        waits.then(|| self.written_at + self.interval)
    }

    /// Whether a keep-alive has to be written.
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }
}
