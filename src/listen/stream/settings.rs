use alloc::sync::Arc;

use crate::{clock::Millis, tally::Tally};

use super::{ServerStream, ending::Ending};

/// How long a stream may last, and who counts what it goes through.
impl ServerStream {
    /// Counts what happens in `tally`.
    pub fn count_in(&mut self, tally: Arc<Tally>) {
        self.tally = Some(tally);
    }

    /// A reader that takes nothing for `span`, while something waits for it, is given up; zero: never.
    pub fn stall_after(&mut self, span: impl Into<Millis>) {
        self.lifetime.stall_after(span.into());
    }

    /// At this moment the stream retires, as [`ServerStream::retire`] says; of several moments the
    /// earliest counts.
    pub fn retire_at(&mut self, at: Millis, why: Ending) {
        self.lifetime.retire_at(at, why);
    }

    /// At this moment the stream ends at once, without a result and whatever waits: nothing may be said any more to a
    /// caller whose credentials have expired.
    pub fn expire_at(&mut self, at: Millis) {
        self.lifetime.expire_at(at);
    }

    /// Takes back [`ServerStream::expire_at`].
    pub fn never_expire(&mut self) {
        self.lifetime.never_expire();
    }
}
