use alloc::{string::String, vec::Vec};

use crate::{
    bus::replay::Replay,
    vocabulary::{position::Cursor, topic::Delta},
    wire::{
        Backlog, EdgeMessage, Follow, FollowResponse, Followed, ProtocolError, SessionInterest,
    },
};

use super::{EdgeId, Registry};

/// The content of an edge's frame.
pub(in crate::bus) enum EdgeFrame {
    /// The edge detaches.
    Detach,
    /// A later follow arrived before: this is the reply, and nothing changes.
    Stale(FollowResponse),
    /// A fresh follow, which replaces all topics.
    All(Follow),
    /// A follow that adds or drops topics.
    More(Follow),
}

/// The follows of edges, and the replies.
impl Registry {
    /// Reads a frame of an edge.
    pub(in crate::bus) fn read(
        &self,
        edge: EdgeId,
        text: &str,
    ) -> Result<EdgeFrame, ProtocolError> {
        let EdgeMessage::Follow(follow) = EdgeMessage::from_json(text)? else {
            return Ok(EdgeFrame::Detach);
        };
        if !self.connections.contains(edge) {
            return Err(ProtocolError::OutOfPlace);
        }
        Ok(match self.seq(edge).filter(|seq| follow.seq <= *seq) {
            Some(seq) => EdgeFrame::Stale(FollowResponse::Stale { seq }),
            None if follow.is_fresh => EdgeFrame::All(follow),
            None => EdgeFrame::More(follow),
        })
    }

    /// Returns how a follow changes the topics of an edge.
    pub(in crate::bus) fn delta(
        &self,
        edge: EdgeId,
        follow: &Follow,
    ) -> Result<Delta, ProtocolError> {
        let attached = self.get(edge).filter(|attached| !attached.is_waiting);
        let attached = attached.ok_or(ProtocolError::OutOfPlace)?;
        Ok(follow.delta().against(&attached.topics))
    }

    /// Applies a change of topics and records its number. Drops take effect even if the additions
    /// are not admitted. Returns what has changed.
    pub(in crate::bus) fn count_change(
        &mut self,
        edge: EdgeId,
        seq: u64,
        mut delta: Delta,
        is_admitted: bool,
    ) -> Delta {
        if !is_admitted {
            delta.add.clear();
        }
        self.change(edge, &delta);
        if let Some(attached) = self.get_mut(edge) {
            attached.seq = seq;
        }
        delta
    }

    /// Returns the reply to an edge whose additions are in effect; the log ended at `cursor` at
    /// that time.
    pub(in crate::bus) fn confirmed(
        &self,
        edge: EdgeId,
        seq: u64,
        cursor: Cursor,
    ) -> FollowResponse {
        let missed = None;
        self.followed(edge, seq, cursor, missed, Vec::new())
    }

    /// Returns the reply to an edge whose additions have no room.
    pub(in crate::bus) fn refused(&self, edge: EdgeId, seq: u64) -> FollowResponse {
        let room = self.reported_room(edge);
        FollowResponse::Full { seq, room }
    }

    /// Completes a fresh follow: returns the reply and the events that the edge missed. From then
    /// on the edge receives published events.
    pub(in crate::bus) fn begun(
        &mut self,
        edge: EdgeId,
        seq: u64,
        cursor: Cursor,
        replay: Replay,
        interests: Vec<SessionInterest>,
    ) -> Vec<String> {
        let missed = Backlog {
            after: replay.after(),
            events: Vec::new(),
        };
        let (batches, reached) = replay.batches();
        if let Some(attached) = self.get_mut(edge) {
            attached.last = Some(reached);
            attached.is_waiting = false;
        }
        let position = reached.max(cursor.position);
        let cursor = Cursor { position, ..cursor };
        let response = self.followed(edge, seq, cursor, Some(missed), interests);
        let mut frames = vec![response.to_json()];
        frames.extend(batches);
        frames
    }

    fn followed(
        &self,
        edge: EdgeId,
        seq: u64,
        cursor: Cursor,
        missed: Option<Backlog>,
        interests: Vec<SessionInterest>,
    ) -> FollowResponse {
        FollowResponse::Followed(Followed {
            seq,
            cursor,
            missed,
            is_settled: false,
            interests,
            room: self.reported_room(edge),
        })
    }
}
