use crate::{
    event::ServerEvent,
    position::{Mark, Position},
    sorted::Map,
    topic::{Subject, Topic},
};

use super::{
    Bus,
    placement::ShardId,
    protocol::ProtocolError,
    replay::in_order,
    shard_protocol::{Follow, FollowAnswer, Followed, Missed, Watched},
};

/// The answer to one call of a shard, while it comes into being: what it needs from the log and
/// from the sessions is pushed, then [`FollowReply::finish`] writes it.
#[derive(Debug)]
pub struct FollowReply {
    shard: ShardId,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    Accepted {
        mark: Mark,
        is_settled: bool,
        joined: Vec<Box<str>>,
        left: Vec<Box<str>>,
        is_fresh: bool,
        after: Option<Position>,
        last: Map<Subject, (Position, ServerEvent)>,
        watches: Vec<Watched>,
        room: usize,
    },
    Refused(FollowAnswer),
}

impl Bus {
    /// A shard told what it follows, in one call.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call fails then, and nothing has changed.
    pub fn handle_follow(
        &mut self,
        shard: ShardId,
        text: &str,
    ) -> Result<FollowReply, ProtocolError> {
        let follow = Follow::from_json(text)?;
        let outcome = match self.shards.placement.seq(shard) {
            None => Outcome::Refused(FollowAnswer::Unknown),
            Some(seq) if follow.seq <= seq => Outcome::Refused(FollowAnswer::Stale { seq }),
            Some(_) if !self.admits(shard, &follow) => Outcome::Refused(FollowAnswer::Full {
                room: self.room_of(shard),
            }),
            Some(_) => self.accept(shard, follow),
        };
        Ok(FollowReply { shard, outcome })
    }

    fn accept(&mut self, shard: ShardId, follow: Follow) -> Outcome {
        self.apply(shard, &follow);
        let since = follow.since;
        Outcome::Accepted {
            mark: self.mark.clone(),
            is_settled: self.has_taken_everything(shard),
            joined: follow.joined,
            left: follow.left,
            is_fresh: follow.is_fresh,
            after: since.map(|since| since.max(self.floor).min(self.mark.position)),
            last: Map::new(),
            watches: Vec::new(),
            room: self.room_of(shard),
        }
    }
}

impl FollowReply {
    /// The events after this position are to be pushed, in the order of their positions; after the sessions.
    pub fn replay_after(&self) -> Option<Position> {
        match &self.outcome {
            Outcome::Accepted { after, mark, .. } => after.filter(|at| *at < mark.position),
            Outcome::Refused(_) => None,
        }
    }

    /// The sessions whose streams are at the shard now; what each watches is to be pushed.
    pub fn joined(&self) -> &[Box<str>] {
        match &self.outcome {
            Outcome::Accepted { joined, .. } => joined,
            Outcome::Refused(_) => &[],
        }
    }

    /// The sessions whose streams are gone from the shard.
    pub fn left(&self) -> &[Box<str>] {
        match &self.outcome {
            Outcome::Accepted { left, .. } => left,
            Outcome::Refused(_) => &[],
        }
    }

    /// Whether the shard has begun anew: no other session has its stream there.
    pub fn is_fresh(&self) -> bool {
        matches!(&self.outcome, Outcome::Accepted { is_fresh: true, .. })
    }

    /// What a session watches that has joined; one that is not pushed is over.
    pub fn push_watch(&mut self, bus: &mut Bus, watched: Watched) {
        if let Outcome::Accepted { watches, .. } = &mut self.outcome {
            let topics = watched.uris.iter().cloned().map(Topic::Resource);
            bus.add(self.shard, topics.collect());
            watches.push(watched);
        }
    }

    /// The next event of the log.
    pub fn push_event(&mut self, bus: &Bus, position: Position, event: &ServerEvent) {
        let is_followed = |topic: Topic| bus.shards.follows.takes(self.shard, &topic);
        if let Outcome::Accepted { last, .. } = &mut self.outcome
            && is_followed(Topic::of(event))
            && Topic::of_audience(event).is_none_or(is_followed)
        {
            last.insert(Topic::subject_of(event), (position, event.clone()));
        }
    }

    /// The answer.
    pub fn finish(self) -> String {
        let answer = match self.outcome {
            Outcome::Accepted {
                mark,
                is_settled,
                after,
                last,
                watches,
                room,
                ..
            } => FollowAnswer::Followed(Followed {
                mark,
                is_settled,
                missed: after.map(|after| missed(after, last)),
                watches,
                room: (room < usize::MAX).then_some(room),
            }),
            Outcome::Refused(answer) => answer,
        };
        answer.to_json()
    }
}

/// As many of the latest events as one answer may carry.
fn missed(after: Position, last: Map<Subject, (Position, ServerEvent)>) -> Missed {
    let mut events = in_order(last);
    let mut bytes = 0;
    let is_beyond = |(_, event): &(Position, ServerEvent)| {
        bytes += event.to_json().len();
        bytes > MOST_BYTES
    };
    let beyond = events.iter().rposition(is_beyond);
    let left_out = beyond.and_then(|place| events.drain(..=place).next_back());
    Missed {
        after: left_out.map_or(after, |(position, _)| position),
        events,
    }
}

/// A call may carry 32 MiB.
const MOST_BYTES: usize = 8 << 20;
