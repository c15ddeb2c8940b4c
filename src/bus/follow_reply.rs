use alloc::{string::String, vec::Vec};

use crate::{
    vocabulary::{
        event::ServerEvent,
        position::{Cursor, Position},
        topic::{Delta, Topic},
    },
    wire::{Claim, Follow, FollowResponse, Followed, ProtocolError, SessionInterest},
};

use super::{Bus, placement::ShardId, registry::EdgeId, replay::Replay};

/// The reply to one follow while it is being completed: the caller pushes what it needs from the
/// sessions and the log, and [`FollowReply::finish`] returns its text.
#[derive(Debug)]
pub struct FollowReply {
    from: FollowSender,
    persist: Persist,
    outcome: Outcome,
}

/// What has to be stored so that an edge can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Persist {
    /// Nothing has changed.
    Nothing,
    /// Everything that [`Registry::stored_topics`](super::Registry::stored_topics) returns.
    All,
    /// This change, in addition to what is stored.
    Delta(Delta),
}

/// The sender of a follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FollowSender {
    /// A shard of the bus.
    Shard(ShardId),
    /// An edge.
    Edge(EdgeId),
}

#[derive(Debug)]
enum Outcome {
    Accepted(Accepted),
    Refused(FollowResponse),
}

#[derive(Debug)]
struct Accepted {
    seq: u64,
    cursor: Cursor,
    is_fresh: bool,
    is_settled: bool,
    joined: Vec<Claim>,
    left: Vec<Claim>,
    replay: Option<Replay>,
    interests: Vec<SessionInterest>,
}

impl Persist {
    pub(super) fn of(delta: Delta) -> Self {
        if delta.is_empty() {
            Self::Nothing
        } else {
            Self::Delta(delta)
        }
    }
}

impl Bus {
    /// Handles a call of a shard that states what it follows.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call fails and changes nothing.
    pub fn handle_follow(
        &mut self,
        shard: ShardId,
        text: &str,
    ) -> Result<FollowReply, ProtocolError> {
        let follow = Follow::from_json(text)?;
        let outcome = match self.shards.seq(shard) {
            None => Outcome::Refused(FollowResponse::Unknown),
            Some(seq) if follow.seq <= seq => Outcome::Refused(FollowResponse::Stale { seq }),
            Some(_) if !self.admits(shard, &follow) => Outcome::Refused(FollowResponse::Full {
                seq: follow.seq,
                room: Some(self.room_of(shard)),
            }),
            Some(_) => Outcome::Accepted(self.accept(shard, follow)),
        };
        if self.is_crowded() {
            self.shards.ask_unreported(&|_| true);
        }
        Ok(FollowReply {
            from: FollowSender::Shard(shard),
            persist: Persist::Nothing,
            outcome,
        })
    }

    fn accept(&mut self, shard: ShardId, follow: Follow) -> Accepted {
        self.shards.apply(shard, &follow);
        self.count_shard_names();
        let since = follow.since;
        let after = since.map(|since| since.max(self.floor).min(self.cursor.position));
        Accepted {
            is_settled: self.shards.has_settled(shard),
            ..Accepted::new(follow, self.cursor.clone(), after)
        }
    }
}

impl Accepted {
    fn new(follow: Follow, cursor: Cursor, after: Option<Position>) -> Self {
        Self {
            seq: follow.seq,
            cursor,
            is_fresh: follow.is_fresh,
            is_settled: false,
            joined: follow.joined,
            left: follow.left,
            replay: after.map(Replay::new),
            interests: Vec::new(),
        }
    }
}

impl FollowReply {
    pub(super) fn to_edge(
        edge: EdgeId,
        follow: Follow,
        cursor: Cursor,
        after: Option<Position>,
        persist: Persist,
    ) -> Self {
        Self {
            from: FollowSender::Edge(edge),
            persist,
            outcome: Outcome::Accepted(Accepted::new(follow, cursor, after)),
        }
    }

    pub(super) fn refused_to_edge(
        edge: EdgeId,
        response: FollowResponse,
        persist: Persist,
    ) -> Self {
        Self {
            from: FollowSender::Edge(edge),
            persist,
            outcome: Outcome::Refused(response),
        }
    }

    /// Returns the sender of the follow.
    pub fn from(&self) -> FollowSender {
        self.from
    }

    /// Returns what has to be stored for the edge.
    pub fn persist(&self) -> &Persist {
        &self.persist
    }

    /// Returns the sessions whose streams have joined. Push the subscriptions of each before any
    /// event.
    pub fn joined(&self) -> &[Claim] {
        self.accepted().map_or(&[], |accepted| &accepted.joined)
    }

    /// Returns the sessions whose streams have left a shard.
    pub fn left(&self) -> &[Claim] {
        self.accepted().map_or(&[], |accepted| &accepted.left)
    }

    /// Whether a shard has restarted: no other session has its stream there.
    pub fn is_fresh(&self) -> bool {
        self.accepted().is_some_and(|accepted| accepted.is_fresh)
    }

    /// Adds the subscriptions of a session that has joined; a session that is not pushed has ended.
    pub fn push_interest(&mut self, bus: &mut Bus, interest: SessionInterest) {
        let from = self.from;
        if let Outcome::Accepted(accepted) = &mut self.outcome {
            match from {
                FollowSender::Shard(shard) => {
                    let topics = interest.uris.iter().cloned().map(Topic::Resource);
                    bus.shards.add(shard, topics.collect());
                    bus.count_shard_names();
                }
                FollowSender::Edge(edge) => {
                    bus.edges.set_resources(edge, &interest.uris);
                }
            }
            accepted.interests.push(interest);
        }
    }

    /// Returns the position after which the caller has to push the events, in order; `None` if none
    /// are needed. For an edge those of [`Bus::missed`] suffice.
    pub fn replay_after(&self) -> Option<Position> {
        let accepted = self.accepted()?;
        let after = accepted.replay.as_ref()?.after();
        (after < accepted.cursor.position).then_some(after)
    }

    /// Adds the next event of the log.
    pub fn push_event(&mut self, bus: &Bus, position: Position, event: &ServerEvent) {
        let is_wanted = match self.from {
            FollowSender::Edge(edge) => bus
                .edges
                .topics(edge)
                .is_some_and(|topics| topics.accepts(event)),
            FollowSender::Shard(shard) => {
                let is_followed = |topic: Topic| bus.shards.topics().takes(shard, &topic);
                is_followed(Topic::of(event)) && Topic::of_group(event).is_none_or(is_followed)
            }
        };
        if let Outcome::Accepted(accepted) = &mut self.outcome
            && let Some(replay) = accepted.replay.as_mut().filter(|_| is_wanted)
        {
            replay.push(position, event);
        }
    }

    /// Returns the frames to send: the reply, then for an edge the events that it missed.
    pub fn finish(self, bus: &mut Bus) -> Vec<String> {
        let accepted = match self.outcome {
            Outcome::Refused(response) => return vec![response.to_json()],
            Outcome::Accepted(accepted) => accepted,
        };
        let Accepted {
            seq,
            cursor,
            is_settled,
            replay,
            interests,
            ..
        } = accepted;
        let (shard, replay) = match (self.from, replay) {
            (FollowSender::Edge(edge), Some(replay)) => {
                return bus.edges.begun(edge, seq, cursor, replay, interests);
            }
            (FollowSender::Edge(edge), None) => {
                return vec![bus.edges.confirmed(edge, seq, cursor).to_json()];
            }
            (FollowSender::Shard(shard), replay) => (shard, replay),
        };
        let response = FollowResponse::Followed(Followed {
            seq,
            cursor,
            missed: replay.map(Replay::missed),
            is_settled,
            interests,
            room: Some(bus.room_of(shard)).filter(|room| *room < usize::MAX),
        });
        vec![response.to_json()]
    }

    fn accepted(&self) -> Option<&Accepted> {
        match &self.outcome {
            Outcome::Accepted(accepted) => Some(accepted),
            Outcome::Refused(_) => None,
        }
    }
}
