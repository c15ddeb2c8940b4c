use crate::clock::Millis;

/// Detects a count that stays below half of its peak, or at zero.
#[derive(Debug)]
pub(super) struct LowWatermark {
    /// How long the count has to stay low.
    span: Millis,
    peak: usize,
    at: Option<Millis>,
    is_due: bool,
}

impl Default for LowWatermark {
    fn default() -> Self {
        Self::new(SPAN)
    }
}

impl LowWatermark {
    /// Creates a detector of counts that stay low for `span`.
    pub(super) fn new(span: Millis) -> Self {
        Self {
            span,
            peak: 0,
            at: None,
            is_due: false,
        }
    }

    /// Handles a change of the count.
    pub(super) fn handle_count(&mut self, count: usize, now: Millis) {
        self.peak = self.peak.max(count);
        if count > 0 && count.saturating_mul(2) >= self.peak {
            self.at = None;
            self.is_due = false;
        } else if self.at.is_none() && !self.is_due {
            self.at = Some(now + self.span);
        }
    }

    /// Handles the passing of time.
    pub(super) fn handle_timeout(&mut self, now: Millis) {
        if self.at.take_if(|at| *at <= now).is_some() {
            self.is_due = true;
        }
    }

    /// Returns when to call [`LowWatermark::handle_timeout`].
    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        self.at
    }

    /// Whether the low count has to be reported.
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Records the report, and restarts from this count.
    pub(super) fn handle_reported(&mut self, count: usize) {
        *self = Self {
            peak: count,
            ..Self::new(self.span)
        };
    }
}

/// How long a count has to stay low by default: edges often reconnect within seconds.
const SPAN: Millis = Millis(10_000);
