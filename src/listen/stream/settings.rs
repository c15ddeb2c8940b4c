use alloc::sync::Arc;

use crate::{clock::Millis, metrics::Metrics};

use super::{ServerStream, end_reason::EndReason};

/// Settings of a stream: how long it may last, and where it is counted.
impl ServerStream {
    /// Counts events and notifications in `metrics`.
    pub fn count_in(&mut self, metrics: Arc<Metrics>) {
        self.metrics = Some(metrics);
    }

    /// Ends the stream if its client reads nothing for `span` while output is pending. Zero
    /// disables it.
    pub fn stall_after(&mut self, span: impl Into<Millis>) {
        self.lifetime.stall_after(span.into());
    }

    /// Schedules a retirement, see [`ServerStream::retire`]; of several times the earliest applies.
    pub fn retire_at(&mut self, at: Millis, why: EndReason) {
        self.lifetime.retire_at(at, why);
    }

    /// Ends the stream at this time, at once and without a result, dropping pending output: nothing
    /// may be sent to a caller whose credentials have expired.
    pub fn expire_at(&mut self, at: Millis) {
        self.lifetime.expire_at(at);
    }

    /// Cancels [`ServerStream::expire_at`].
    pub fn never_expire(&mut self) {
        self.lifetime.never_expire();
    }
}
