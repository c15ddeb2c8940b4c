use std::collections::BTreeMap;

use crate::{
    bus::{EdgeId, Position},
    event::ServerEvent,
    seeded::{self, Bug},
};

use super::Line;

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

    /// The streams that take the event at this position, each with its head. They are not fresh any
    /// more.
    pub(super) fn joining(&mut self, position: Position) -> BTreeMap<EdgeId, Position> {
        if self.heads.is_empty() || position <= self.lowest {
            return BTreeMap::new();
        }
        let (joining, fresh) = std::mem::take(&mut self.heads)
            .into_iter()
            .partition(|(_, head)| *head < position);
        self.heads = fresh;
        self.lowest = self.heads.values().min().copied().unwrap_or_default();
        joining
    }
}

impl Line {
    /// Fresh streams take what stands after the head that their acknowledgment names. Returns them
    /// with their heads.
    pub(super) fn join(&mut self, position: Position) -> BTreeMap<EdgeId, Position> {
        let joining = self.fresh.joining(position);
        for edge in joining.keys() {
            self.admit(*edge);
        }
        joining
    }

    /// Makes fresh again the streams that took an event ahead of its turn: the log is followed from
    /// before their heads again.
    pub(super) fn join_later(&mut self, joined: BTreeMap<EdgeId, Position>) {
        if joined.is_empty() {
            return;
        }
        let resume = self.follower.resume().map(|mark| mark.position);
        for (edge, head) in joined {
            if resume < Some(head)
                && !seeded::has(Bug::JoinsForGood)
                && let Some(attached) = self.edges.get_mut(edge)
            {
                attached.is_waiting = true;
                self.fresh.enter(edge, head);
            }
        }
    }

    /// A stream was authorized before it was acknowledged, so that a revocation from between concerns
    /// it: a fresh stream takes it, and one that is not acknowledged is lost.
    pub(super) fn join_revoked(&mut self, revoked: &ServerEvent) {
        for edge in self.edges.matching(revoked) {
            if self.is_open(edge) {
                self.fresh.leave(edge);
                self.admit(edge);
            } else {
                self.lose(edge);
            }
        }
    }

    fn admit(&mut self, edge: EdgeId) {
        if let Some(attached) = self.edges.get_mut(edge) {
            attached.is_waiting = false;
        }
    }
}
