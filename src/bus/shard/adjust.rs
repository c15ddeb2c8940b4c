use crate::{
    bus::{
        adjust::Adjust,
        edges::{Delta, EdgeId},
        frames::{adjusted_frame, refused_frame},
        protocol::ProtocolError,
    },
    clock::Millis,
    position::Position,
    seeded::{self, Bug},
    topic::Topic,
};

use super::{Asked, Parting, Shard, ShardOutput, ShardReceived, Waiting};

impl Shard {
    /// What is dropped is dropped at once and in any case; what is added is answered once the root follows it.
    pub(super) fn adjust(
        &mut self,
        edge: EdgeId,
        mut change: Adjust,
        now: Millis,
    ) -> Result<ShardReceived, ProtocolError> {
        let delta = self.edges.delta(edge, &change);
        let delta = delta.filter(|_| !self.is_waiting(edge));
        let mut delta = delta.ok_or(ProtocolError::OutOfPlace)?;
        let is_admitted =
            self.edges.admits_change(edge, &delta) && self.root_admits(delta.added.iter(), now);
        if !is_admitted {
            delta.added.clear();
            change.refuse();
        }
        self.edges.change(edge, &delta);
        self.release(delta.dropped.iter().map(Topic::followed));
        for topic in &delta.added {
            self.wants.want(topic.followed());
        }
        if is_admitted {
            self.confirm_or_wait(edge, change.seq, delta);
        } else {
            self.refuse_adjust(edge, change.seq);
        }
        Ok(ShardReceived::Adjusting { change })
    }

    /// Confirms an adjustment; the log ended at `head` when what it adds came to be followed.
    pub(super) fn answer_adjust(&mut self, edge: EdgeId, seq: u64, head: Position) {
        let frame = adjusted_frame(seq, head, self.edges.room_of(edge));
        self.send(edge, frame);
    }

    /// There is no room for what an adjustment adds.
    fn refuse_adjust(&mut self, edge: EdgeId, seq: u64) {
        let frame = refused_frame(seq, self.edges.room_of(edge));
        self.send(edge, frame);
    }

    /// Whether the root has room for what these topics would have it follow too, as far as is known.
    pub(super) fn root_admits<'k>(
        &mut self,
        topics: impl Iterator<Item = &'k Topic>,
        now: Millis,
    ) -> bool {
        let new = self.edges.new_names(topics);
        self.root_room.admits(self.edges.names(), new, now)
    }

    /// The root has no room for what a call adds: whoever waits for some of it is refused.
    pub(super) fn refuse_waiting(&mut self, seq: u64) {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (refused, waiting): (Vec<_>, Vec<_>) =
            waiting.partition(|waiting| waiting.call == Some(seq) && self.lacks(waiting.edge));
        self.waiting = waiting;
        for waiting in refused {
            match waiting.what {
                Asked::Attach { .. } => self.close(waiting.edge, Parting::Full),
                Asked::Adjust { seq, added } => self.take_back(waiting.edge, seq, added),
            }
        }
    }

    fn confirm_or_wait(&mut self, edge: EdgeId, seq: u64, delta: Delta) {
        let topics: Vec<Topic> = delta.added.iter().map(Topic::followed).collect();
        if let Some(mark) = self
            .mark
            .as_ref()
            .filter(|_| self.is_current(&topics, None) || seeded::has(Bug::AdjustsAtAShardTooSoon))
        {
            return self.answer_adjust(edge, seq, mark.position);
        }
        self.waiting.push(Waiting {
            edge,
            call: self.call_that_serves(&topics, None, None),
            what: Asked::Adjust {
                seq,
                added: delta.added,
            },
        });
    }

    /// Whether some of what an edge wants is not followed.
    fn lacks(&self, edge: EdgeId) -> bool {
        let attached = self.edges.get(edge);
        attached.is_some_and(|attached| {
            let mut topics = attached.followed();
            topics.any(|topic| !self.wants.is_followed(&topic))
        })
    }

    fn take_back(&mut self, edge: EdgeId, seq: u64, added: Vec<Topic>) {
        let change = Adjust {
            drop: added.clone().into(),
            ..Adjust::default()
        };
        let delta = Delta {
            added: Vec::new(),
            dropped: added,
        };
        self.edges.change(edge, &delta);
        self.release(delta.dropped.iter().map(Topic::followed));
        self.outputs.push_back(ShardOutput::Change(edge, change));
        self.refuse_adjust(edge, seq);
    }
}
