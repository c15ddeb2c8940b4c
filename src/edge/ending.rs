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

    /// Ends the stream once the bus has confirmed that nothing published before this call is missing, and
    /// at `until` at the latest: as [`Edge::close`] where `why` says so, else without a result. Poll
    /// [`Edge::poll_call`]. The first other reason than a close counts.
    pub fn end_by(&mut self, until: Millis, why: Ending, now: Millis) {
        if why == Ending::Closed || self.ends_by.is_none() {
            self.ends_by = Some((until, why));
        }
        self.follower.settle(now);
        self.end_if_due(now);
    }

    pub(super) fn end_if_due(&mut self, now: Millis) {
        let is_asking = self.stream.is_open() && !self.follower.is_settled();
        let is_due = |end: &mut (Millis, Ending)| !is_asking || end.0 <= now;
        match self.ends_by.take_if(is_due) {
            Some((_, Ending::Closed)) => self.close(),
            Some((_, why)) => self.stream.retire(why),
            None => {}
        }
    }
}
