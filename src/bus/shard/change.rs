use alloc::vec::Vec;

use crate::{
    bus::{follow_reply::Persist, registry::EdgeId},
    clock::Millis,
    vocabulary::{
        position::Cursor,
        topic::{Delta, Topic},
    },
    wire::{Follow, ProtocolError},
};

use super::{
    EdgeCloseReason, Shard, ShardOutput, ShardReceived,
    waiting_follows::{Asked, Waiting},
};

impl Shard {
    /// Changes the topics of an edge. Drops take effect at once, even if the additions are refused;
    /// additions are confirmed once the root follows them.
    pub(super) fn change_edge(
        &mut self,
        edge: EdgeId,
        follow: &Follow,
        now: Millis,
    ) -> Result<ShardReceived, ProtocolError> {
        let seq = follow.seq;
        let delta = self.edges.delta(edge, follow)?;
        let is_admitted =
            self.edges.admits_change(edge, &delta) && self.root_admits(delta.add.iter(), now);
        let delta = self.edges.count_change(edge, seq, delta, is_admitted);
        self.release(delta.drop.iter().map(Topic::followed));
        for topic in &delta.add {
            self.interest.want(topic.followed());
        }
        if is_admitted {
            self.confirm_or_wait(edge, seq, &delta);
        } else {
            self.refuse_more(edge, seq);
        }
        Ok(ShardReceived::Followed {
            persist: Persist::of(delta),
            session: None,
        })
    }

    /// Confirms the additions of an edge; the log ended at `cursor` when they took effect.
    pub(super) fn confirm(&mut self, edge: EdgeId, seq: u64, cursor: &Cursor) {
        let response = self.edges.confirmed(edge, seq, cursor.clone());
        self.send(edge, response.to_json());
    }

    /// Refuses the additions of an edge, which have no room.
    fn refuse_more(&mut self, edge: EdgeId, seq: u64) {
        let response = self.edges.refused(edge, seq);
        self.send(edge, response.to_json());
    }

    /// Whether the root has room for these topics, as far as is known.
    pub(super) fn root_admits<'k>(
        &mut self,
        topics: impl Iterator<Item = &'k Topic>,
        now: Millis,
    ) -> bool {
        let new = self.edges.new_name_bytes(topics);
        self.interest
            .admits(self.edges.followed_name_bytes(), new, now)
    }

    /// Refuses the edges that wait for topics of a call for which the root has no room.
    pub(super) fn refuse_waiting(&mut self, seq: u64) {
        let mut waiting = core::mem::take(&mut self.waiting);
        let refused = waiting.take(seq, |edge| self.lacks(edge));
        self.waiting = waiting;
        for waiting in refused {
            match waiting.what {
                Asked::All { .. } => self.close(waiting.edge, EdgeCloseReason::Full),
                Asked::More(added) => self.undo_additions(waiting.edge, waiting.seq, added),
            }
        }
    }

    fn confirm_or_wait(&mut self, edge: EdgeId, seq: u64, delta: &Delta) {
        let topics: Vec<Topic> = delta.add.iter().map(Topic::followed).collect();
        let is_current = self.is_current(&topics, None);
        if let Some(cursor) = self.cursor.clone().filter(|_| is_current) {
            return self.confirm(edge, seq, &cursor);
        }
        self.waiting.push(Waiting {
            edge,
            seq,
            call: self.call_that_serves(&topics, None, None),
            what: Asked::More(delta.add.clone()),
        });
    }

    /// Whether some topics of an edge are not followed.
    fn lacks(&self, edge: EdgeId) -> bool {
        let attached = self.edges.get(edge);
        attached.is_some_and(|attached| {
            let mut topics = attached.followed();
            topics.any(|topic| !self.interest.is_followed(&topic))
        })
    }

    fn undo_additions(&mut self, edge: EdgeId, seq: u64, drop: Vec<Topic>) {
        let delta = Delta {
            add: Vec::new(),
            drop,
        };
        self.edges.change(edge, &delta);
        self.release(delta.drop.iter().map(Topic::followed));
        self.outputs
            .push_back(ShardOutput::PersistChange(edge, delta));
        self.refuse_more(edge, seq);
    }
}
