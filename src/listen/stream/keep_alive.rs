use crate::clock::Millis;

/// Signs of life where nothing else is written.
#[derive(Debug)]
pub(crate) struct KeepAlive {
    interval: Millis,
    written_at: Millis,
    is_due: bool,
}

impl KeepAlive {
    /// One after each `interval` of silence; zero: none.
    pub(crate) fn new(interval: Millis, now: Millis) -> Self {
        Self {
            interval,
            written_at: now,
            is_due: false,
        }
    }

    /// Something was written.
    pub(crate) fn handle_written(&mut self, now: Millis) {
        self.written_at = now;
        self.is_due = false;
    }

    pub(crate) fn handle_timeout(&mut self, now: Millis) {
        self.is_due |= self.deadline().is_some_and(|at| at <= now);
    }

    /// When the next one will be due; `None` while one is.
    pub(crate) fn deadline(&self) -> Option<Millis> {
        let waits = self.interval > Millis(0) && !self.is_due;
        waits.then(|| self.written_at + self.interval)
    }

    /// Whether one is to be written.
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }
}
