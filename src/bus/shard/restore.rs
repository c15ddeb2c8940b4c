use alloc::{string::String, vec::Vec};

use crate::{
    bus::edges::EdgeId,
    clock::Millis,
    position::{Mark, Position},
    topic::Topics,
    wire::{self, ProtocolError},
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

    /// An edge of before this shard was put aside, with what [`Shard::last`] and [`Shard::seq`] said of it.
    pub fn restore(
        &mut self,
        topics: &Topics,
        last: Option<Position>,
        seq: u64,
        session: Option<&str>,
    ) -> EdgeId {
        let edge = self.edges.connect();
        for topic in topics.iter() {
            self.wants.confirm(topic.followed());
        }
        if let Some(session) = session {
            self.sessions.push((session.into(), edge));
        }
        self.edges.enter(edge, topics, seq, last, false);
        self.low
            .handle_count(self.edges.attached(), Millis::default());
        edge
    }

    /// As [`Shard::restore`], from the texts of [`Shard::kept`] and the changes that were told since.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]; nothing is restored then.
    pub fn restore_kept<'t>(
        &mut self,
        texts: impl Iterator<Item = &'t str>,
        last: Option<Position>,
        seq: u64,
        session: Option<&str>,
    ) -> Result<EdgeId, ProtocolError> {
        Ok(self.restore(&wire::topics_of(texts)?, last, seq, session))
    }

    /// What an edge follows, as texts of bounded size.
    pub fn kept(&self, edge: EdgeId) -> Vec<String> {
        self.topics(edge).map_or_else(Vec::new, wire::kept)
    }

    /// The number of what an edge said last.
    pub fn seq(&self, edge: EdgeId) -> Option<u64> {
        self.edges.seq(edge)
    }

    /// The place of the last frame that an attached edge was sent.
    pub fn last(&self, edge: EdgeId) -> Option<Position> {
        self.edges.get(edge)?.last
    }
}
