use crate::clock::Millis;

/// Notices that a count has fallen below half of what it was, or never rose, and stayed there.
#[derive(Debug)]
pub(super) struct Low {
    /// For how long it has to stay there.
    patience: Millis,
    peak: usize,
    at: Option<Millis>,
    is_due: bool,
}

impl Default for Low {
    fn default() -> Self {
        Self::new(PATIENCE)
    }
}

impl Low {
    /// Notices what has lasted for `patience`.
    pub(super) fn new(patience: Millis) -> Self {
        Self {
            patience,
            peak: 0,
            at: None,
            is_due: false,
        }
    }

    /// The count has changed.
    pub(super) fn handle_count(&mut self, count: usize, now: Millis) {
        self.peak = self.peak.max(count);
        if count > 0 && count.saturating_mul(2) >= self.peak {
            self.at = None;
            self.is_due = false;
        } else if self.at.is_none() && !self.is_due {
            self.at = Some(now + self.patience);
        }
    }

    /// Time goes by.
    pub(super) fn handle_timeout(&mut self, now: Millis) {
        if self.at.take_if(|at| *at <= now).is_some() {
            self.is_due = true;
        }
    }

    /// When to say so by itself.
    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        self.at
    }

    /// Whether it is to be told.
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// It was told.
    pub(super) fn tell(&mut self, count: usize) {
        *self = Self {
            peak: count,
            ..Self::new(self.patience)
        };
    }
}

/// Edges go and come back.
const PATIENCE: Millis = Millis(10_000);
