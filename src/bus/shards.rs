use alloc::vec::Vec;
use alloc::{collections::VecDeque, sync::Arc};

use crate::{
    clock::Millis,
    vocabulary::{event::ServerEvent, position::Position, topic::Topic},
    wire::{BatchAck, Follow, ProtocolError},
};

use super::{
    Bus,
    dispatcher::Dispatcher,
    follows::Follows,
    journal::{BatchCall, JournalEntry},
    outbox::Outbox,
    placement::{Placement, Route, ShardId},
};

/// The shards of a bus: the topics of each, and the events that it has not confirmed.
#[derive(Debug)]
pub(super) struct Shards {
    settled: Position,
    pub(super) placement: Placement,
    pub(super) follows: Follows,
    dispatcher: Dispatcher,
    journal: VecDeque<JournalEntry>,
}

/// The shards of a bus: where edges go, the topics of each shard, and the events that it has not
/// confirmed.
impl Bus {
    /// Lets the bus open shards, each of which holds `per_shard` edges. They have received
    /// everything up to `settled`; `last` is the highest number that a shard has ever had. Call it
    /// before all other functions of shards.
    pub fn set_shards(&mut self, settled: Position, last: u32, per_shard: u32) {
        self.shards = Shards {
            settled,
            placement: Placement::new(per_shard, last),
            ..Shards::default()
        };
    }

    /// Restores a shard after a restart.
    pub fn restore_shard(&mut self, shard: ShardId, continent: &str, seq: u64, is_leaving: bool) {
        self.shards
            .placement
            .restore(shard, continent, seq, is_leaving);
        self.shards.dispatcher.insert(shard);
        if is_leaving {
            self.shards.dispatcher.enqueue(shard, Outbox::end);
        }
    }

    /// Restores a topic of a shard after a restart.
    pub fn restore_topic(&mut self, shard: ShardId, topic: Topic) {
        self.shards.follows.insert(shard, topic);
        self.count_follows();
    }

    /// Returns the position after which shards may not have received the events; `None` if there is
    /// no shard. Pass each later event to [`Bus::restore_event`], in order, once all shards are
    /// restored.
    pub fn restore_after(&mut self) -> Option<Position> {
        if !self.has_shards() {
            return None;
        }
        if self.shards.settled < self.floor {
            self.shards.dispatcher.leave_out(self.floor);
        }
        Some(self.shards.settled.max(self.floor))
    }

    /// Restores the next event of the log that shards may not have received.
    pub fn restore_event(&mut self, position: Position, event: &ServerEvent) {
        self.enqueue(position, None, event);
    }

    /// Returns where the next edge of a continent goes. The root holds `own` edges; the shard
    /// `full` has refused this edge. Opens a shard if needed.
    pub fn route(&mut self, continent: &str, own: u32, full: Option<ShardId>) -> Route {
        if let Some(full) = full {
            self.shards.placement.fill(full);
        }
        let place = self.shards.placement.find(continent, own);
        place.unwrap_or_else(|| Route::Shard(self.open(continent)))
    }

    /// Returns the next call if one is due.
    pub fn poll_batch(&mut self, now: Millis) -> Option<BatchCall> {
        self.shards.dispatcher.poll(&self.cursor, now)
    }

    /// Handles the reply of a shard to a call.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call then counts as failed.
    pub fn handle_ack(
        &mut self,
        shard: ShardId,
        call: u32,
        answer: &str,
        now: Millis,
        random: f64,
    ) -> Result<(), ProtocolError> {
        let ack = BatchAck::from_json(answer);
        let ack = ack.inspect_err(|_| self.handle_failure(shard, call, false, now, random))?;
        self.shards.placement.report(shard, ack.edges);
        if self.shards.dispatcher.handle_ack(shard, call)
            && ack.is_retired
            && self.shards.placement.is_leaving(shard)
        {
            self.close(shard);
        }
        Ok(())
    }

    /// Handles the failure of a call, which will be repeated.
    pub fn handle_failure(
        &mut self,
        shard: ShardId,
        call: u32,
        is_overloaded: bool,
        now: Millis,
        random: f64,
    ) {
        let dispatcher = &mut self.shards.dispatcher;
        dispatcher.handle_failure(shard, call, is_overloaded, now, random);
    }

    /// Returns when to call [`Bus::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.shards.dispatcher.poll_timeout()
    }

    /// Handles the timeouts that are due.
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        self.shards.dispatcher.handle_timeout(now, random);
    }

    /// Whether every shard has confirmed everything.
    pub fn is_settled(&self) -> bool {
        self.shards.dispatcher.is_settled()
    }

    /// Records the end of a burst: if everything is confirmed, a change is due that stores this.
    pub fn settle(&mut self) {
        if self.is_settled() && self.shards.settled < self.cursor.position && self.has_shards() {
            self.set_settled();
        }
    }

    /// Returns the next change to store.
    pub fn poll_entry(&mut self) -> Option<JournalEntry> {
        self.shards.journal.pop_front()
    }

    /// Whether there is any shard.
    pub fn has_shards(&self) -> bool {
        !self.shards.placement.is_empty()
    }

    /// Returns the shards, each with the continent that it was opened for and its known number of
    /// edges.
    pub fn shards(&self) -> impl Iterator<Item = (ShardId, &str, Option<u32>)> {
        self.shards.placement.shards()
    }

    /// Returns the shards that follow the topics of `event`.
    pub fn interested(&self, event: &ServerEvent) -> Vec<ShardId> {
        self.shards.follows.matching(event)
    }

    pub(super) fn has_confirmed_everything(&self, shard: ShardId) -> bool {
        self.shards.dispatcher.has_settled(shard)
    }

    /// Applies a call of a shard: changes its topics and records its number of edges.
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
            self.shards.dispatcher.clear(shard);
        }
        self.shards.journal.push_back(JournalEntry::Follows {
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

    /// Adds topics of a shard.
    pub(super) fn add(&mut self, shard: ShardId, topics: Vec<Topic>) {
        let topics = topics.into_iter();
        let add: Vec<Topic> = topics
            .filter(|topic| self.shards.follows.insert(shard, topic.clone()))
            .collect();
        self.count_follows();
        let seq = self.shards.placement.seq(shard);
        if let Some(seq) = seq.filter(|_| !add.is_empty()) {
            self.shards.journal.push_back(JournalEntry::Follows {
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
        self.shards.dispatcher.insert(shard);
        // The edge may never connect. A shard that knows of its bus reports that it is empty.
        self.shards.dispatcher.enqueue(shard, Outbox::ask);
        self.shards.journal.push_back(JournalEntry::Opened {
            shard,
            continent: continent.into(),
        });
        shard
    }

    fn shrink(&mut self) {
        for shard in self.shards.placement.surplus() {
            self.shards.placement.leave(shard);
            self.shards.dispatcher.enqueue(shard, Outbox::end);
            self.shards.journal.push_back(JournalEntry::Leaving(shard));
        }
    }

    fn close(&mut self, shard: ShardId) {
        self.shards.follows.forget(shard);
        self.count_follows();
        self.shards.dispatcher.remove(shard);
        self.shards.placement.close(shard);
        self.shards.journal.push_back(JournalEntry::Closed(shard));
    }

    fn set_settled(&mut self) {
        self.shards.settled = self.cursor.position;
        self.shards
            .journal
            .push_back(JournalEntry::Settled(self.shards.settled));
    }

    /// Adds an event to the outboxes of the shards that follow its topics.
    pub(super) fn enqueue(&mut self, position: Position, at: Option<Millis>, event: &ServerEvent) {
        let interested = self.interested(event);
        if interested.is_empty() {
            return;
        }
        let text: Arc<str> = event.to_json().into();
        for shard in interested {
            let dispatcher = &mut self.shards.dispatcher;
            dispatcher.enqueue(shard, |outbox| outbox.push(position, at, text.clone()));
        }
    }

    /// Whether there is room for what a call adds, after what it drops.
    pub(super) fn admits(&self, shard: ShardId, follow: &Follow) -> bool {
        let names = self.shards.follows.grown_by(shard, follow);
        names.is_none_or(|names| names <= self.edges.room().spare())
    }

    /// Returns the maximum bytes of the names of a shard: half of what is left stays for the
    /// others.
    pub(super) fn room_of(&self, shard: ShardId) -> usize {
        let follows = &self.shards.follows;
        match self.edges.room().spare() {
            usize::MAX => usize::MAX,
            spare => follows.name_bytes_of(shard) + spare.saturating_sub(follows.name_bytes()) / 2,
        }
    }

    /// Counts the names that the shards follow in the room of the edges.
    pub(super) fn count_follows(&mut self) {
        let names = self.shards.follows.name_bytes();
        self.edges.room_mut().set_elsewhere(names);
    }
}

impl Default for Shards {
    /// No shards, and none is ever opened.
    fn default() -> Self {
        Self {
            settled: Position::default(),
            placement: Placement::new(u32::MAX, 0),
            follows: Follows::default(),
            dispatcher: Dispatcher::default(),
            journal: VecDeque::new(),
        }
    }
}
