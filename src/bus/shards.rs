use alloc::vec::Vec;
use alloc::{collections::VecDeque, sync::Arc};

use crate::{
    clock::Millis,
    vocabulary::{
        event::ServerEvent,
        position::{Cursor, Position},
        topic::{Topic, Topics},
    },
    wire::{BatchAck, Follow, ProtocolError},
};

use super::{
    dispatcher::Dispatcher,
    journal::{BatchCall, JournalEntry},
    outbox::Outbox,
    placement::{Placement, Route, ShardId},
    shard_topics::ShardTopics,
};

/// The shards of a bus: where edges go, the topics of each shard, and the events that it has not
/// confirmed.
#[derive(Debug)]
pub(super) struct Shards {
    settled: Position,
    placement: Placement,
    topics: ShardTopics,
    dispatcher: Dispatcher,
    journal: VecDeque<JournalEntry>,
}

impl Shards {
    /// Shards of `per_shard` edges each; see [`Bus::set_shards`](super::Bus::set_shards).
    pub(super) fn new(settled: Position, last: u32, per_shard: u32) -> Self {
        Self {
            settled,
            placement: Placement::new(per_shard, last),
            topics: ShardTopics::default(),
            dispatcher: Dispatcher::default(),
            journal: VecDeque::new(),
        }
    }

    pub(super) fn restore(&mut self, shard: ShardId, continent: &str, seq: u64, is_leaving: bool) {
        self.placement.restore(shard, continent, seq, is_leaving);
        self.dispatcher.insert(shard);
        if is_leaving {
            self.dispatcher.enqueue(shard, Outbox::end);
        } else if seq == 0 {
            // It may not know of its bus.
            self.dispatcher.enqueue(shard, Outbox::ask);
        }
    }

    pub(super) fn restore_topic(&mut self, shard: ShardId, topic: Topic) {
        self.topics.insert(shard, topic);
    }

    /// Returns the position after which shards may not have received the events of a log that
    /// begins after `floor`; `None` if there is no shard.
    pub(super) fn restore_after(&mut self, floor: Position) -> Option<Position> {
        if self.is_empty() {
            return None;
        }
        if self.settled < floor {
            self.dispatcher.leave_out(floor);
        }
        Some(self.settled.max(floor))
    }

    /// Returns where the next edge goes; opens a shard if needed, which begins at `head`.
    pub(super) fn route(
        &mut self,
        continent: &str,
        own: u32,
        full: Option<ShardId>,
        head: Position,
    ) -> Route {
        if let Some(full) = full {
            self.placement.fill(full);
        }
        let place = self.placement.find(continent, own);
        place.unwrap_or_else(|| Route::Shard(self.open(continent, head)))
    }

    pub(super) fn poll_batch(&mut self, cursor: &Cursor, now: Millis) -> Option<BatchCall> {
        self.dispatcher.poll(cursor, now)
    }

    pub(super) fn handle_ack(
        &mut self,
        shard: ShardId,
        call: u32,
        response: &str,
        now: Millis,
        random: f64,
    ) -> Result<(), ProtocolError> {
        let ack = BatchAck::from_json(response);
        let ack = ack.inspect_err(|_| self.handle_failure(shard, call, false, now, random))?;
        self.placement.report(shard, ack.edges);
        if self.dispatcher.handle_ack(shard, call)
            && ack.is_retired
            && self.placement.is_leaving(shard)
        {
            self.close(shard);
        }
        Ok(())
    }

    pub(super) fn handle_failure(
        &mut self,
        shard: ShardId,
        call: u32,
        is_overloaded: bool,
        now: Millis,
        random: f64,
    ) {
        let dispatcher = &mut self.dispatcher;
        dispatcher.handle_failure(shard, call, is_overloaded, now, random);
    }

    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        self.dispatcher.poll_timeout()
    }

    pub(super) fn handle_timeout(&mut self, now: Millis, random: f64) {
        self.dispatcher.handle_timeout(now, random);
    }

    /// Whether every shard has confirmed everything.
    pub(super) fn is_settled(&self) -> bool {
        self.dispatcher.is_settled()
    }

    /// Whether this shard has confirmed everything.
    pub(super) fn has_settled(&self, shard: ShardId) -> bool {
        self.dispatcher.has_settled(shard)
    }

    /// Records that everything up to `head` is confirmed, if it is.
    pub(super) fn settle(&mut self, head: Position) {
        if self.is_settled() && self.settled < head && !self.is_empty() {
            self.set_settled(head);
        }
    }

    pub(super) fn poll_entry(&mut self) -> Option<JournalEntry> {
        self.journal.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.placement.is_empty()
    }

    /// Returns the shards, each with its continent and its known number of edges.
    pub(super) fn all(&self) -> impl Iterator<Item = (ShardId, &str, Option<u32>)> {
        self.placement.shards()
    }

    /// Returns the number of a shard's last call; `None` if there is no such shard.
    pub(super) fn seq(&self, shard: ShardId) -> Option<u64> {
        self.placement.seq(shard)
    }

    /// Returns the topics that the shards follow.
    pub(super) fn topics(&self) -> &ShardTopics {
        &self.topics
    }

    /// See [`Index::take_changed`](crate::vocabulary::topic::Index::take_changed).
    pub(super) fn take_changed(&mut self) -> Option<Topics> {
        self.topics.take_changed()
    }

    /// Applies a call of a shard: changes its topics and records its number of edges.
    pub(super) fn apply(&mut self, shard: ShardId, follow: &Follow) {
        if follow.is_fresh {
            self.topics.forget(shard);
        }
        for topic in &follow.drop {
            self.topics.remove(shard, topic);
        }
        let add = follow.add.iter();
        let add = add.filter(|topic| self.topics.insert(shard, (*topic).clone()));
        let add = add.cloned().collect();
        self.placement.count(shard, follow.seq);
        if follow.is_fresh {
            self.dispatcher.clear(shard);
        }
        self.journal.push_back(JournalEntry::Follows {
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

    /// Adds topics of a shard.
    pub(super) fn add(&mut self, shard: ShardId, topics: Vec<Topic>) {
        let topics = topics.into_iter();
        let add: Vec<Topic> = topics
            .filter(|topic| self.topics.insert(shard, topic.clone()))
            .collect();
        let seq = self.placement.seq(shard);
        if let Some(seq) = seq.filter(|_| !add.is_empty()) {
            self.journal.push_back(JournalEntry::Follows {
                shard,
                seq,
                is_fresh: false,
                add,
                drop: Vec::new(),
            });
        }
    }

    /// Asks those of these shards that have not reported since the start for their number of edges.
    /// A shard that has restarted too learns of its bus in this way, and reports that it is empty.
    pub(super) fn ask_unreported(&mut self, is_meant: &dyn Fn(ShardId) -> bool) {
        let unreported = self
            .all()
            .filter(|(shard, _, edges)| edges.is_none() && is_meant(*shard));
        let unreported: Vec<ShardId> = unreported.map(|(shard, ..)| shard).collect();
        for shard in unreported {
            self.dispatcher.enqueue(shard, Outbox::ask);
        }
    }

    fn open(&mut self, continent: &str, head: Position) -> ShardId {
        if self.is_empty() {
            self.set_settled(head);
        }
        let shard = self.placement.open(continent);
        self.dispatcher.insert(shard);
        // The edge may never connect. A shard that knows of its bus reports that it is empty.
        self.dispatcher.enqueue(shard, Outbox::ask);
        self.journal.push_back(JournalEntry::Opened {
            shard,
            continent: continent.into(),
        });
        shard
    }

    fn shrink(&mut self) {
        for shard in self.placement.surplus() {
            self.placement.leave(shard);
            self.dispatcher.enqueue(shard, Outbox::end);
            self.journal.push_back(JournalEntry::Leaving(shard));
        }
    }

    fn close(&mut self, shard: ShardId) {
        self.topics.forget(shard);
        self.dispatcher.remove(shard);
        self.placement.close(shard);
        self.journal.push_back(JournalEntry::Closed(shard));
    }

    fn set_settled(&mut self, head: Position) {
        self.settled = head;
        self.journal.push_back(JournalEntry::Settled(head));
    }

    /// Adds an event to the outboxes of the shards that follow its topics.
    pub(super) fn enqueue(&mut self, position: Position, at: Option<Millis>, event: &ServerEvent) {
        let interested = self.topics.matching(event);
        if interested.is_empty() {
            return;
        }
        let text: Arc<str> = event.to_json().into();
        for shard in interested {
            let dispatcher = &mut self.dispatcher;
            dispatcher.enqueue(shard, |outbox| outbox.push(position, at, text.clone()));
        }
    }
}

impl Default for Shards {
    /// Creates an empty set of shards, to which none is ever added.
    fn default() -> Self {
        Self::new(Position::default(), 0, u32::MAX)
    }
}
