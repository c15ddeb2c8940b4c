use alloc::{string::String, vec::Vec};

use crate::{
    bus::replay::Replay,
    vocabulary::{position::Mark, topic::Delta},
    wire::{EdgeMessage, Follow, FollowAnswer, Followed, Missed, ProtocolError, Watched},
};

use super::{EdgeId, Registry};

/// What an edge's frame says.
pub(in crate::bus) enum Frame {
    /// It asks to be let go.
    Detach,
    /// It has said something later: this is the answer, and nothing changes.
    Stale(FollowAnswer),
    /// This is all that it follows from now on.
    All(Follow),
    /// It follows more, or less.
    More(Follow),
}

/// What edges follow, and how they are answered.
impl Registry {
    /// Reads a frame of an edge.
    pub(in crate::bus) fn read(&self, edge: EdgeId, text: &str) -> Result<Frame, ProtocolError> {
        let EdgeMessage::Follow(follow) = EdgeMessage::from_json(text)? else {
            return Ok(Frame::Detach);
        };
        if !self.all.contains(edge) {
            return Err(ProtocolError::OutOfPlace);
        }
        Ok(match self.seq(edge).filter(|seq| follow.seq <= *seq) {
            Some(seq) => Frame::Stale(FollowAnswer::Stale { seq }),
            None if follow.is_fresh => Frame::All(follow),
            None => Frame::More(follow),
        })
    }

    /// What a follow changes of what an edge follows.
    pub(in crate::bus) fn delta(
        &self,
        edge: EdgeId,
        follow: &Follow,
    ) -> Result<Delta, ProtocolError> {
        let attached = self.get(edge).filter(|attached| !attached.is_waiting);
        let attached = attached.ok_or(ProtocolError::OutOfPlace)?;
        Ok(follow.delta().against(&attached.topics))
    }

    /// An edge has said that it follows more and less. What it drops is dropped in any case; the answer is what has changed.
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

    /// What an edge has added is followed; the log ended at `mark` when it came to be.
    pub(in crate::bus) fn confirmed(&self, edge: EdgeId, seq: u64, mark: Mark) -> FollowAnswer {
        let missed = None;
        self.followed(edge, seq, mark, missed, Vec::new())
    }

    /// There is no room for what an edge adds.
    pub(in crate::bus) fn refused(&self, edge: EdgeId, seq: u64) -> FollowAnswer {
        let room = self.told_room(edge);
        FollowAnswer::Full { seq, room }
    }

    /// All that an edge follows is followed: the answer, and what it has missed. From there on it gets what is published.
    pub(in crate::bus) fn begun(
        &mut self,
        edge: EdgeId,
        seq: u64,
        mark: Mark,
        replay: Replay,
        watches: Vec<Watched>,
    ) -> Vec<String> {
        let missed = Missed {
            after: replay.after(),
            events: Vec::new(),
        };
        let (batches, heard) = replay.batches();
        if let Some(attached) = self.get_mut(edge) {
            attached.last = Some(heard);
            attached.is_waiting = false;
        }
        let position = heard.max(mark.position);
        let mark = Mark { position, ..mark };
        let answer = self.followed(edge, seq, mark, Some(missed), watches);
        let mut frames = vec![answer.to_json()];
        frames.extend(batches);
        frames
    }

    fn followed(
        &self,
        edge: EdgeId,
        seq: u64,
        mark: Mark,
        missed: Option<Missed>,
        watches: Vec<Watched>,
    ) -> FollowAnswer {
        FollowAnswer::Followed(Followed {
            seq,
            mark,
            missed,
            is_settled: false,
            watches,
            room: self.told_room(edge),
        })
    }
}
