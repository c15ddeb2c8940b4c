use std::collections::BTreeMap;

use crate::bus::{EdgeId, Position};

/// Streams that were acknowledged while events from before that were still to be replayed to others
/// on the same connection. Each takes nothing at or before the head of the log that its
/// acknowledgment names.
#[derive(Debug, Default)]
pub(super) struct Fresh {
    heads: BTreeMap<EdgeId, Position>,
    /// No head is below this one.
    lowest: Position,
}

impl Fresh {
    pub(super) fn enter(&mut self, edge: EdgeId, head: Position) {
        if self.heads.is_empty() || head < self.lowest {
            self.lowest = head;
        }
        self.heads.insert(edge, head);
    }

    pub(super) fn leave(&mut self, edge: EdgeId) {
        self.heads.remove(&edge);
    }

    /// The streams that take the event at this position and all that come after it. They are not
    /// fresh any more.
    pub(super) fn joining(&mut self, position: Position) -> Vec<EdgeId> {
        if self.heads.is_empty() || position <= self.lowest {
            return Vec::new();
        }
        let (joining, fresh) = std::mem::take(&mut self.heads)
            .into_iter()
            .partition(|(_, head)| *head < position);
        self.heads = fresh;
        self.lowest = self.heads.values().min().copied().unwrap_or_default();
        let joining: BTreeMap<EdgeId, Position> = joining;
        joining.into_keys().collect()
    }
}
