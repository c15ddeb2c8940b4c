use std::{collections::VecDeque, sync::Arc};

use crate::{
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    position::{Mark, Position},
    scope::Scope,
    seeded::{self, Bug},
    sorted::Map,
    topic::{Index, Topic, Topics},
};

use super::{
    change::{BatchCall, Change},
    outbox::Outbox,
    placement::{Home, Placement, ShardId},
    post::Post,
    protocol::ProtocolError,
    shard_protocol::{Follow, Taken},
};

/// The root's side of the shards: where edges go, what each shard follows, and what it has yet to take.
///
/// Whoever drives it makes durable what [`Root::poll_change`] gives before it answers anybody, and
/// makes the calls that [`Root::poll_batch`] gives. After a restart, [`Root::new`] and the
/// `restore` functions bring back what was durable, the log after `settled` among it.
#[derive(Debug)]
pub struct Root {
    pub(super) mark: Mark,
    settled: Position,
    pub(super) placement: Placement,
    pub(super) interests: Index<ShardId>,
    /// The same by shard, and what the names of each count.
    topics: Map<ShardId, Topics>,
    /// Bytes that the names of all shards count, those that more than one follows more than once.
    names: usize,
    /// Bytes that they may count.
    most: usize,
    post: Post,
    changes: VecDeque<Change>,
}

impl Root {
    /// A root whose log ends at `mark` and whose shards have taken everything up to `settled`.
    /// The highest number of a shard that ever was is `last`; each takes `per_shard` edges.
    pub fn new(mark: Mark, settled: Position, last: u32, per_shard: u32) -> Self {
        Self {
            mark,
            settled,
            placement: Placement::new(per_shard, last),
            interests: Index::default(),
            topics: Map::new(),
            names: 0,
            most: usize::MAX,
            post: Post::default(),
            changes: VecDeque::new(),
        }
    }

    /// Bounds the names of what all shards follow to `most` bytes together.
    pub fn set_room(&mut self, most: usize) {
        self.most = most;
    }

    /// Bytes that the names of what all shards follow count.
    pub fn names(&self) -> usize {
        self.names
    }

    /// A shard that was there before a restart.
    pub fn restore_shard(&mut self, shard: ShardId, continent: &str, seq: u64, is_leaving: bool) {
        self.placement.restore(shard, continent, seq, is_leaving);
        self.post.insert(shard);
        if is_leaving {
            self.post.owe(shard, Outbox::end);
        }
    }

    /// What a shard followed before a restart.
    pub fn restore_topic(&mut self, shard: ShardId, topic: Topic) {
        self.insert(shard, topic);
    }

    /// An event of the log after `settled`: shards may not have taken it.
    pub fn restore_event(&mut self, position: Position, event: &ServerEvent, text: &str) {
        self.post(position, None, event, text);
    }

    /// The log does not reach back to `settled` any more: it holds what comes after `floor`.
    pub fn restore_floor(&mut self, floor: Position) {
        if self.settled < floor {
            self.post.leave_out(floor);
        }
    }

    /// Where the next edge of a continent goes; the root holds `own` edges, and the shard `full`
    /// has refused this one. Opens a shard where it needs one.
    pub fn place(&mut self, continent: &str, own: u32, full: Option<ShardId>) -> Home {
        if let Some(full) = full {
            self.placement.fill(full);
        }
        let place = self.placement.find(continent, own);
        place.unwrap_or_else(|| Home::Shard(self.open(continent)))
    }

    /// An event was published, `at` so many milliseconds after 1970.
    pub fn publish(
        &mut self,
        position: Position,
        at: Option<Millis>,
        event: &ServerEvent,
        text: &str,
    ) {
        self.mark.position = position;
        self.post(position, at, event, text);
    }

    /// Events up to here were published while there was no shard to tell.
    pub fn advance(&mut self, position: Position) {
        self.mark.position = position;
    }

    /// The next call to make, if it is time for one.
    pub fn poll_batch(&mut self, now: Millis) -> Option<BatchCall> {
        self.post.poll(&self.mark, now)
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
        self.placement.report(shard, taken.edges);
        if self.post.handle_taken(shard, call)
            && taken.is_retired
            && self.placement.is_leaving(shard)
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
        let post = &mut self.post;
        post.handle_failure(shard, call, is_overloaded, now, random);
    }

    /// When to call [`Root::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.post.poll_timeout()
    }

    /// That moment has come.
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        self.post.handle_timeout(now, random);
    }

    /// Whether every shard has taken everything.
    pub fn is_settled(&self) -> bool {
        self.post.is_settled()
    }

    /// A burst is over: what is settled by now is to be made durable.
    pub fn settle(&mut self) {
        if self.is_settled() && self.settled < self.mark.position && self.has_shards() {
            self.set_settled();
        }
    }

    /// The next thing to make durable.
    pub fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    /// Whether there is any shard.
    pub fn has_shards(&self) -> bool {
        !self.placement.is_empty()
    }

    /// The shards, each with the continent that it was opened for and how many edges it is known to hold.
    pub fn shards(&self) -> impl Iterator<Item = (ShardId, &str, Option<u32>)> {
        self.placement.shards()
    }

    /// What each shard follows.
    pub fn rows(&self) -> impl Iterator<Item = (ShardId, &Topic)> {
        self.interests.entries()
    }

    /// What all shards follow together, but for everything.
    pub fn wanted(&self) -> SubscriptionFilter {
        let topics: Vec<Topic> = self.interests.topics().cloned().collect();
        let filter = SubscriptionFilter::from(topics);
        // A server behind tells of changes alone, and to everybody.
        SubscriptionFilter {
            scope: Scope::default(),
            ..filter
        }
    }

    /// The shards that follow what `event` is about.
    pub fn interested(&self, event: &ServerEvent) -> Vec<ShardId> {
        self.interests.matching(event)
    }

    pub(super) fn has_taken_everything(&self, shard: ShardId) -> bool {
        self.post.has_settled(shard)
    }

    /// One call has changed what a shard follows, and told how many edges it holds.
    pub(super) fn apply(&mut self, shard: ShardId, follow: &Follow) {
        if follow.is_fresh {
            self.forget(shard);
        }
        for topic in &follow.drop {
            self.remove(shard, topic);
        }
        let is_entered = follow.is_fresh || !seeded::has(Bug::EntersTheFirstNamesOnly);
        let add = follow.add.iter().filter(|_| is_entered);
        let add = add.filter(|topic| self.insert(shard, (*topic).clone()));
        let add = add.cloned().collect();
        self.placement.count(shard, follow.seq);
        if follow.is_fresh || seeded::has(Bug::ClearsWhatIsOwed) {
            self.post.clear(shard);
        }
        self.changes.push_back(Change::Follows {
            shard,
            seq: follow.seq,
            is_fresh: follow.is_fresh,
            add,
            drop: follow.drop.clone(),
        });
        self.placement.report(shard, follow.edges);
        if follow.is_low {
            self.shrink();
        }
    }

    /// More that a shard follows from now on.
    pub(super) fn add(&mut self, shard: ShardId, topics: Vec<Topic>) {
        let topics = topics.into_iter();
        let add: Vec<Topic> = topics
            .filter(|topic| self.insert(shard, topic.clone()))
            .collect();
        let seq = self.placement.seq(shard);
        if let Some(seq) = seq.filter(|_| !add.is_empty()) {
            self.changes.push_back(Change::Follows {
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
        let shard = self.placement.open(continent);
        self.post.insert(shard);
        // The edge that it is for may not come: a shard that knows of itself tells that it is empty.
        self.post.owe(shard, Outbox::ask);
        self.changes.push_back(Change::Opened {
            shard,
            continent: continent.into(),
        });
        shard
    }

    fn shrink(&mut self) {
        for shard in self.placement.surplus() {
            self.placement.leave(shard);
            self.post.owe(shard, Outbox::end);
            self.changes.push_back(Change::Leaving(shard));
        }
    }

    fn close(&mut self, shard: ShardId) {
        self.forget(shard);
        self.post.remove(shard);
        self.placement.close(shard);
        self.changes.push_back(Change::Closed(shard));
    }

    fn set_settled(&mut self) {
        self.settled = self.mark.position;
        self.changes.push_back(Change::Settled(self.settled));
    }

    fn post(&mut self, position: Position, at: Option<Millis>, event: &ServerEvent, text: &str) {
        let interested = self.interested(event);
        if interested.is_empty() {
            return;
        }
        let text: Arc<str> = text.into();
        for shard in interested {
            let post = &mut self.post;
            post.owe(shard, |outbox| outbox.push(position, at, text.clone()));
        }
    }

    /// Whether there is room for what a call adds, once what it drops is gone.
    pub(super) fn admits(&self, shard: ShardId, follow: &Follow) -> bool {
        let none = Topics::default();
        let held = self.topics.get(&shard).unwrap_or(&none);
        let gone: usize = if follow.is_fresh {
            held.bytes()
        } else {
            let dropped = follow.drop.iter().filter(|topic| held.contains(topic));
            dropped.map(Topic::names).sum()
        };
        let added = follow.add.iter();
        let added = added.filter(|topic| follow.is_fresh || !held.contains(topic));
        let added: usize = added.map(Topic::names).sum();
        added <= gone || self.names - gone + added <= self.most
    }

    /// The most bytes that the names of a shard may come to count: half of what is left is for the others.
    pub(super) fn room_of(&self, shard: ShardId) -> usize {
        if self.most == usize::MAX {
            return self.most;
        }
        let held = self.topics.get(&shard).map_or(0, Topics::bytes);
        held + self.most.saturating_sub(self.names) / 2
    }

    /// Whether that is new.
    fn insert(&mut self, shard: ShardId, topic: Topic) -> bool {
        if self.interests.has(shard, &topic) {
            return false;
        }
        self.names += topic.names();
        let topic = self.interests.insert(shard, topic);
        if let Some(topics) = self.topics.or_default(shard) {
            topics.insert(topic);
        }
        true
    }

    fn remove(&mut self, shard: ShardId, topic: &Topic) {
        let topics = self.topics.get_mut(&shard);
        if topics.is_some_and(|topics| topics.remove(topic)) {
            self.release(shard, topic);
        }
    }

    fn forget(&mut self, shard: ShardId) {
        let topics = self.topics.remove(&shard).unwrap_or_default();
        for topic in topics.iter() {
            self.release(shard, topic);
        }
    }

    fn release(&mut self, shard: ShardId, topic: &Topic) {
        self.names -= topic.names();
        self.interests.remove(shard, topic);
    }
}
