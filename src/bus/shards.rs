use alloc::vec::Vec;
use alloc::{collections::VecDeque, sync::Arc};

use crate::{
    clock::Millis,
    vocabulary::{event::ServerEvent, position::Position, topic::Topic},
    wire::{Follow, ProtocolError, Taken},
};

use super::{
    Bus,
    change::{BatchCall, Change},
    follows::Follows,
    outbox::Outbox,
    placement::{Home, Placement, ShardId},
    post::Post,
};

/// The shards of a bus: what each follows, and what it has yet to take.
#[derive(Debug)]
pub(super) struct Shards {
    settled: Position,
    pub(super) placement: Placement,
    pub(super) follows: Follows,
    post: Post,
    changes: VecDeque<Change>,
}

/// The shards, where a bus has any: where edges go, what each shard follows, and what it has yet to take.
impl Bus {
    /// The bus opens shards beyond so many edges, each of which takes `per_shard`. They have taken everything up to
    /// `settled`; the highest number of a shard that ever was is `last`.
    /// Before anything else of them is told.
    pub fn set_shards(&mut self, settled: Position, last: u32, per_shard: u32) {
        self.shards = Shards {
            settled,
            placement: Placement::new(per_shard, last),
            ..Shards::default()
        };
    }

    /// Bytes that the names of what all shards follow count.
    pub fn shard_names(&self) -> usize {
        self.shards.follows.names()
    }

    /// A shard that was there before a restart.
    pub fn restore_shard(&mut self, shard: ShardId, continent: &str, seq: u64, is_leaving: bool) {
        self.shards
            .placement
            .restore(shard, continent, seq, is_leaving);
        self.shards.post.insert(shard);
        if is_leaving {
            self.shards.post.owe(shard, Outbox::end);
        }
    }

    /// What a shard followed before a restart.
    pub fn restore_topic(&mut self, shard: ShardId, topic: Topic) {
        self.shards.follows.insert(shard, topic);
        self.count_follows();
    }

    /// The events of the log that shards may not have taken come after this position: each is to be told with
    /// [`Bus::restore_event`], in order, once all shards are back. `None`: there is no shard.
    pub fn restore_after(&mut self) -> Option<Position> {
        if !self.has_shards() {
            return None;
        }
        if self.shards.settled < self.floor {
            self.shards.post.leave_out(self.floor);
        }
        Some(self.shards.settled.max(self.floor))
    }

    /// The next event of the log that shards may not have taken.
    pub fn restore_event(&mut self, position: Position, event: &ServerEvent) {
        self.owe(position, None, event);
    }

    /// Where the next edge of a continent goes; the root holds `own` edges, and the shard `full`
    /// has refused this one. Opens a shard where it needs one.
    pub fn place(&mut self, continent: &str, own: u32, full: Option<ShardId>) -> Home {
        if let Some(full) = full {
            self.shards.placement.fill(full);
        }
        let place = self.shards.placement.find(continent, own);
        place.unwrap_or_else(|| Home::Shard(self.open(continent)))
    }

    /// The next call to make, if it is time for one.
    pub fn poll_batch(&mut self, now: Millis) -> Option<BatchCall> {
        self.shards.post.poll(&self.mark, now)
    }

    /// A shard answered a call.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call counts as failed then.
    pub fn handle_taken(
        &mut self,
        shard: ShardId,
        call: u32,
        answer: &str,
        now: Millis,
        random: f64,
    ) -> Result<(), ProtocolError> {
        let taken = Taken::from_json(answer);
        let taken = taken.inspect_err(|_| self.handle_failure(shard, call, false, now, random))?;
        self.shards.placement.report(shard, taken.edges);
        if self.shards.post.handle_taken(shard, call)
            && taken.is_retired
            && self.shards.placement.is_leaving(shard)
        {
            self.close(shard);
        }
        Ok(())
    }

    /// A call failed; it will be made again.
    pub fn handle_failure(
        &mut self,
        shard: ShardId,
        call: u32,
        is_overloaded: bool,
        now: Millis,
        random: f64,
    ) {
        let post = &mut self.shards.post;
        post.handle_failure(shard, call, is_overloaded, now, random);
    }

    /// When to call [`Bus::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.shards.post.poll_timeout()
    }

    /// That moment has come.
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        self.shards.post.handle_timeout(now, random);
    }

    /// Whether every shard has taken everything.
    pub fn is_settled(&self) -> bool {
        self.shards.post.is_settled()
    }

    /// A burst is over: what is settled by now is to be made durable.
    pub fn settle(&mut self) {
        if self.is_settled() && self.shards.settled < self.mark.position && self.has_shards() {
            self.set_settled();
        }
    }

    /// The next thing to make durable.
    pub fn poll_change(&mut self) -> Option<Change> {
        self.shards.changes.pop_front()
    }

    /// Whether there is any shard.
    pub fn has_shards(&self) -> bool {
        !self.shards.placement.is_empty()
    }

    /// The shards, each with the continent that it was opened for and how many edges it is known to hold.
    pub fn shards(&self) -> impl Iterator<Item = (ShardId, &str, Option<u32>)> {
        self.shards.placement.shards()
    }

    /// What each shard follows.
    pub fn rows(&self) -> impl Iterator<Item = (ShardId, &Topic)> {
        self.shards.follows.entries()
    }

    /// The shards that follow what `event` is about.
    pub fn interested(&self, event: &ServerEvent) -> Vec<ShardId> {
        self.shards.follows.matching(event)
    }

    pub(super) fn has_taken_everything(&self, shard: ShardId) -> bool {
        self.shards.post.has_settled(shard)
    }

    /// One call has changed what a shard follows, and told how many edges it holds.
    pub(super) fn apply(&mut self, shard: ShardId, follow: &Follow) {
        if follow.is_fresh {
            self.shards.follows.forget(shard);
        }
        for topic in &follow.drop {
            self.shards.follows.remove(shard, topic);
        }
        let add = follow.add.iter();
        let add = add.filter(|topic| self.shards.follows.insert(shard, (*topic).clone()));
        let add = add.cloned().collect();
        self.shards.placement.count(shard, follow.seq);
        if follow.is_fresh {
            self.shards.post.clear(shard);
        }
        self.shards.changes.push_back(Change::Follows {
            shard,
            seq: follow.seq,
            is_fresh: follow.is_fresh,
            add,
            drop: follow.drop.clone(),
        });
        self.count_follows();
        self.shards.placement.report(shard, follow.edges);
        if follow.is_low {
            self.shrink();
        }
    }

    /// More that a shard follows from now on.
    pub(super) fn add(&mut self, shard: ShardId, topics: Vec<Topic>) {
        let topics = topics.into_iter();
        let add: Vec<Topic> = topics
            .filter(|topic| self.shards.follows.insert(shard, topic.clone()))
            .collect();
        self.count_follows();
        let seq = self.shards.placement.seq(shard);
        if let Some(seq) = seq.filter(|_| !add.is_empty()) {
            self.shards.changes.push_back(Change::Follows {
                shard,
                seq,
                is_fresh: false,
                add,
                drop: Vec::new(),
            });
        }
    }

    fn open(&mut self, continent: &str) -> ShardId {
        if !self.has_shards() {
            self.set_settled();
        }
        let shard = self.shards.placement.open(continent);
        self.shards.post.insert(shard);
        // The edge that it is for may not come: a shard that knows of itself tells that it is empty.
        self.shards.post.owe(shard, Outbox::ask);
        self.shards.changes.push_back(Change::Opened {
            shard,
            continent: continent.into(),
        });
        shard
    }

    fn shrink(&mut self) {
        for shard in self.shards.placement.surplus() {
            self.shards.placement.leave(shard);
            self.shards.post.owe(shard, Outbox::end);
            self.shards.changes.push_back(Change::Leaving(shard));
        }
    }

    fn close(&mut self, shard: ShardId) {
        self.shards.follows.forget(shard);
        self.count_follows();
        self.shards.post.remove(shard);
        self.shards.placement.close(shard);
        self.shards.changes.push_back(Change::Closed(shard));
    }

    fn set_settled(&mut self) {
        self.shards.settled = self.mark.position;
        self.shards
            .changes
            .push_back(Change::Settled(self.shards.settled));
    }

    /// An event is to be taken by those that follow what it is about.
    pub(super) fn owe(&mut self, position: Position, at: Option<Millis>, event: &ServerEvent) {
        let interested = self.interested(event);
        if interested.is_empty() {
            return;
        }
        let text: Arc<str> = event.to_json().into();
        for shard in interested {
            let post = &mut self.shards.post;
            post.owe(shard, |outbox| outbox.push(position, at, text.clone()));
        }
    }

    /// Whether there is room for what a call adds, once what it drops is gone.
    pub(super) fn admits(&self, shard: ShardId, follow: &Follow) -> bool {
        let names = self.shards.follows.grown_by(shard, follow);
        names.is_none_or(|names| names <= self.edges.room().spare())
    }

    /// The most bytes that the names of a shard may come to count: half of what is left is for the others.
    pub(super) fn room_of(&self, shard: ShardId) -> usize {
        let follows = &self.shards.follows;
        match self.edges.room().spare() {
            usize::MAX => usize::MAX,
            spare => follows.names_of(shard) + spare.saturating_sub(follows.names()) / 2,
        }
    }

    /// What the shards follow counts in the room of the edges.
    pub(super) fn count_follows(&mut self) {
        let names = self.shards.follows.names();
        self.edges.room_mut().set_elsewhere(names);
    }
}

impl Default for Shards {
    /// None, and none is ever opened.
    fn default() -> Self {
        Self {
            settled: Position::default(),
            placement: Placement::new(u32::MAX, 0),
            follows: Follows::default(),
            post: Post::default(),
            changes: VecDeque::new(),
        }
    }
}
