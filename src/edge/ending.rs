use crate::{clock::Millis, listen::Ending};

use super::Edge;

/// How a stream ends that may still have something on its way.
impl Edge {
    /// Ends the stream gracefully: what waits goes out, then the result. What may have been missed
    /// while the bus is away counts as what waits.
    pub fn close(&mut self) {
        if self.stream.is_open() && !self.follower.is_certain() {
            self.stream.handle_last_doubt();
        }
        self.stream.close();
    }

    /// Closes the stream once the bus has confirmed that nothing published before this call is missing, and
    /// at `until` at the latest: as [`Edge::close`] then. Poll [`Edge::poll_call`].
    pub fn close_by(&mut self, until: Millis, now: Millis) {
        self.ends_by = Some((until, Ending::Closed));
        self.settle(now);
    }

    /// As [`Edge::close_by`], but ends the stream without a result.
    pub fn retire_by(&mut self, until: Millis, why: Ending, now: Millis) {
        self.ends_by.get_or_insert((until, why));
        self.settle(now);
    }

    fn settle(&mut self, now: Millis) {
        self.follower.settle(now);
        self.end_if_due(now);
    }

    pub(super) fn end_if_due(&mut self, now: Millis) {
        let is_asking = self.stream.is_open() && !self.follower.is_settled();
        match self
            .ends_by
            .take_if(|(until, _)| !is_asking || *until <= now)
        {
            Some((_, Ending::Closed)) => self.close(),
            Some((_, why)) => self.stream.retire(why),
            None => {}
        }
    }
}
