use crate::{
    bus::registry::EdgeId,
    clock::Millis,
    vocabulary::{
        position::{Cursor, Position},
        topic::Topics,
    },
    wire::Claim,
};

use super::Shard;

/// Restores a shard after hibernation.
impl Shard {
    /// Sets the cursor of a shard that hibernated while its connections stayed open; restore these
    /// next.
    #[must_use]
    pub fn woken(mut self, cursor: Cursor) -> Self {
        self.cursor = Some(cursor);
        // It is unknown since when each topic is followed.
        self.whole_from = Position(u64::MAX);
        self.is_fresh = false;
        self
    }

    /// Restores an edge, with what [`Shard::registry`] returned about it.
    pub fn restore(
        &mut self,
        topics: &Topics,
        last: Option<Position>,
        seq: u64,
        session: Option<Claim>,
    ) -> EdgeId {
        for topic in topics.iter() {
            self.interest.confirm(topic.followed());
        }
        let edge = self.edges.restore(topics, last, seq);
        if let Some(session) = session {
            self.sessions.restore(session, edge);
        }
        self.low
            .handle_count(self.edges.attached(), Millis::default());
        edge
    }
}
