use crate::{
    bus::registry::EdgeId,
    clock::Millis,
    vocabulary::{
        position::{Mark, Position},
        topic::Topics,
    },
    wire::Claim,
};

use super::Shard;

/// What is kept of a shard while it is put aside, and what comes back.
impl Shard {
    /// A shard that was put aside at `mark` while its connections stayed open: they are to be restored.
    #[must_use]
    pub fn woken(mut self, mark: Mark) -> Self {
        self.mark = Some(mark);
        // Nobody remembers since when it follows what.
        self.whole_from = Position(u64::MAX);
        self.is_fresh = false;
        self
    }

    /// An edge of before this shard was put aside, with what [`Shard::registry`] said of it.
    pub fn restore(
        &mut self,
        topics: &Topics,
        last: Option<Position>,
        seq: u64,
        session: Option<Claim>,
    ) -> EdgeId {
        for topic in topics.iter() {
            self.wants.confirm(topic.followed());
        }
        let edge = self.edges.restore(topics, last, seq);
        if let Some(session) = session {
            self.sessions.push((session, edge));
        }
        self.low
            .handle_count(self.edges.attached(), Millis::default());
        edge
    }
}
