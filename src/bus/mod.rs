//! The bus: gives published events their positions and delivers them to the edges and shards that
//! follow their topics.

mod dispatcher;
mod edges;
mod flight;
mod follow_reply;
mod journal;
mod outbox;
mod placement;
mod registry;
mod replay;
mod replay_index;
mod shard;
mod shard_topics;
mod shards;

use alloc::vec::Vec;

pub use edges::Received;
pub use follow_reply::{FollowReply, FollowSender, Persist};
pub use journal::{BatchCall, JournalEntry};
pub use placement::{Route, ShardId};
pub use registry::{Delivery, EdgeId, NameBudget, Registry};
pub use shard::{EdgeCloseReason, FollowCall, Shard, ShardOutput, ShardReceived};

use crate::{
    clock::Millis,
    vocabulary::{
        event::ServerEvent,
        filter::SubscriptionFilter,
        position::{Cursor, Position},
        scope::Scope,
        topic::{Topic, Topics},
    },
    wire::{Follow, ProtocolError},
};
use replay_index::ReplayIndex;
use shards::Shards;

/// A bus without I/O: gives each published event a position, and determines the edges and shards
/// that receive it.
///
/// The host writes an event to the log before it sends it. It stores what [`Bus::poll_entry`]
/// returns before it replies to any request, and makes the calls that [`Bus::poll_batch`] returns.
/// After a restart, [`Bus::new`] and the `restore` functions restore what was stored.
#[derive(Debug)]
pub struct Bus {
    cursor: Cursor,
    floor: Position,
    edges: Registry,
    replay_index: ReplayIndex,
    shards: Shards,
}

/// A published event, ready to be logged and sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Publication {
    /// The position of the event in the log.
    pub position: Position,
    /// The edges that receive the event, and their frames.
    pub deliveries: Vec<Delivery>,
}

impl Bus {
    /// Creates a bus whose log ends at `cursor` and that can replay nothing. It opens no shards.
    pub fn new(cursor: Cursor) -> Self {
        Self {
            floor: cursor.position,
            cursor,
            edges: Registry::default(),
            replay_index: ReplayIndex::default(),
            shards: Shards::default(),
        }
    }

    /// Sets the position after which the log holds every event.
    #[must_use]
    pub fn with_floor(mut self, floor: Position) -> Self {
        self.floor = floor;
        self
    }

    /// Limits the names of all edges together to `max_bytes` bytes, for at most `edges` edges; the
    /// names that shards follow count too. Call it before the first edge connects.
    pub fn set_room(&mut self, max_bytes: usize, edges: usize) {
        self.edges.set_room(NameBudget::new(max_bytes, edges));
        self.count_shard_names();
    }

    /// Returns the registry of the bus's own edges.
    pub fn registry(&self) -> &Registry {
        &self.edges
    }

    /// Handles the trimming of the log, which now holds every event after `floor`.
    pub fn handle_trimmed(&mut self, floor: Position) {
        if floor > self.floor {
            self.replay_index.clear();
        }
        self.floor = floor;
    }

    /// Publishes an event, `at` milliseconds after 1970, from which streams measure the delay of
    /// its delivery.
    pub fn publish_at(&mut self, event: &ServerEvent, at: Option<Millis>) -> Publication {
        self.cursor.position = self.cursor.position.next();
        let position = self.cursor.position;
        self.replay_index.handle_published(position, event);
        self.shards.enqueue(position, at, event);
        Publication {
            position,
            deliveries: self.edges.deliveries(position, at, event),
        }
    }

    /// Whether the events of the log were indexed; if not, pass all of them to [`Bus::index_event`]
    /// before [`Bus::missed`].
    pub fn is_log_indexed(&self) -> bool {
        self.replay_index.is_built()
    }

    /// Adds the next event of the log; every event has to be added in order.
    pub fn index_event(&mut self, position: Position, event: &ServerEvent) {
        self.replay_index.build(position, event);
    }

    /// Discards what was indexed, after a read of the log that failed: a part would count as the
    /// whole log.
    pub fn clear_index(&mut self) {
        self.replay_index.clear();
    }

    /// Returns the positions after `after` of the events that an edge has to receive, in order.
    pub fn missed(&self, edge: EdgeId, after: Position) -> Vec<Position> {
        let topics = self.edges.topics(edge);
        topics.map_or_else(Vec::new, |topics| self.replay_index.missed(topics, after))
    }

    /// Returns the end of the log.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Allows the bus to open shards, each of which holds `per_shard` edges. They have received
    /// everything up to `settled`; `last` is the highest number that a shard has ever had. Call it
    /// before all other functions of shards.
    pub fn set_shards(&mut self, settled: Position, last: u32, per_shard: u32) {
        self.shards = Shards::new(settled, last, per_shard);
    }

    /// Restores a shard after a restart.
    pub fn restore_shard(&mut self, shard: ShardId, continent: &str, seq: u64, is_leaving: bool) {
        self.shards.restore(shard, continent, seq, is_leaving);
    }

    /// Restores a topic of a shard after a restart.
    pub fn restore_topic(&mut self, shard: ShardId, topic: Topic) {
        self.shards.restore_topic(shard, topic);
        self.count_shard_names();
    }

    /// Returns the position after which shards may not have received the events; `None` if there is
    /// no shard. Pass each later event to [`Bus::restore_event`], in order, once all shards are
    /// restored.
    pub fn restore_after(&mut self) -> Option<Position> {
        self.shards.restore_after(self.floor)
    }

    /// Restores the next event of the log that shards may not have received.
    pub fn restore_event(&mut self, position: Position, event: &ServerEvent) {
        self.shards.enqueue(position, None, event);
    }

    /// Returns where the next edge of a continent goes. The root holds `own` edges; the shard
    /// `full` has refused this edge. Opens a shard if needed.
    pub fn route(&mut self, continent: &str, own: u32, full: Option<ShardId>) -> Route {
        let head = self.cursor.position;
        self.shards.route(continent, own, full, head)
    }

    /// Returns the next call if one is due.
    pub fn poll_batch(&mut self, now: Millis) -> Option<BatchCall> {
        self.shards.poll_batch(&self.cursor, now)
    }

    /// Handles the reply of a shard to a call.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call then counts as failed.
    pub fn handle_ack(
        &mut self,
        shard: ShardId,
        call: u32,
        response: &str,
        now: Millis,
        random: f64,
    ) -> Result<(), ProtocolError> {
        self.shards.handle_ack(shard, call, response, now, random)?;
        self.count_shard_names();
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
        let shards = &mut self.shards;
        shards.handle_failure(shard, call, is_overloaded, now, random);
    }

    /// Returns when to call [`Bus::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.shards.poll_timeout()
    }

    /// Handles the timeouts that are due.
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        self.shards.handle_timeout(now, random);
    }

    /// Whether every shard has confirmed everything.
    pub fn is_settled(&self) -> bool {
        self.shards.is_settled()
    }

    /// Records the end of a burst: if everything is confirmed, a change is due that stores this.
    pub fn settle(&mut self) {
        self.shards.settle(self.cursor.position);
    }

    /// Returns the next change to store.
    pub fn poll_entry(&mut self) -> Option<JournalEntry> {
        self.shards.poll_entry()
    }

    /// Returns the shards, each with the continent that it was opened for and its known number of
    /// edges.
    pub fn shards(&self) -> impl Iterator<Item = (ShardId, &str, Option<u32>)> {
        self.shards.all()
    }

    /// Asks those shards for their edges that have not reported since a restart, each in one of 16
    /// minutes. A shard that restarted too may have lost its edges, and its topics would stay
    /// wanted. Call it every minute while that matters; `now` is since 1970.
    pub fn ask_in_turn(&mut self, now: Millis) {
        let minute = now.0 / 60_000;
        let is_its_turn = |ShardId(shard)| u64::from(shard) % TURNS == minute % TURNS;
        self.shards.ask_unreported(&is_its_turn);
    }

    /// Asks those of these shards that have not reported since a restart for their edges.
    pub(crate) fn ask_unreported(&mut self, shards: &[u32]) {
        self.shards
            .ask_unreported(&|ShardId(shard)| shards.contains(&shard));
    }

    /// Whether the filter of any stream names this topic, at an edge or at a shard.
    pub fn wants(&self, topic: &Topic) -> bool {
        self.edges.contains(topic) || self.shards.topics().contains(topic)
    }

    /// Returns the union of the filters of all streams, at edges and at shards, regardless of who
    /// may receive the changes. Subscribers to everything are not streams and add nothing.
    pub fn wanted(&self) -> SubscriptionFilter {
        let mut topics = Topics::default();
        for topic in self.edges.all_topics().chain(self.shards.topics().all()) {
            topics.insert(topic.clone());
        }
        named(&topics)
    }

    /// Returns what streams have begun or ceased to subscribe to since the last call;
    /// [`Bus::wants`] says which. The first call returns `None`: what was wanted before is unknown.
    pub fn poll_wanted(&mut self) -> Option<SubscriptionFilter> {
        let changed = (self.edges.take_changed(), self.shards.take_changed());
        let (mut topics, others) = changed.0.zip(changed.1)?;
        for topic in others.iter() {
            topics.insert(topic.clone());
        }
        Some(named(&topics))
    }

    /// Whether there is room for what the call of a shard adds, after what it drops.
    fn admits(&self, shard: ShardId, follow: &Follow) -> bool {
        let names = self.shards.topics().grown_by(shard, follow);
        names.is_none_or(|names| names <= self.edges.room().spare())
    }

    /// Whether the names that shards follow take more than half of their room.
    fn is_crowded(&self) -> bool {
        self.shards.topics().name_bytes() > self.edges.room().spare() / 2
    }

    /// Returns the maximum bytes of the names of a shard: half of what is left stays for the
    /// others.
    fn room_of(&self, shard: ShardId) -> usize {
        let topics = self.shards.topics();
        match self.edges.room().spare() {
            usize::MAX => usize::MAX,
            spare => topics.name_bytes_of(shard) + spare.saturating_sub(topics.name_bytes()) / 2,
        }
    }

    /// Counts the names that the shards follow in the room of the edges.
    fn count_shard_names(&mut self) {
        let names = self.shards.topics().name_bytes();
        self.edges.room_mut().set_elsewhere(names);
    }
}

/// Returns the topics that filters name, without those of callers.
fn named(topics: &Topics) -> SubscriptionFilter {
    let topics: Vec<Topic> = topics.iter().cloned().collect();
    SubscriptionFilter {
        scope: Scope::default(),
        ..topics.into()
    }
}

/// In each minute one of this many parts of the shards is asked.
const TURNS: u64 = 16;
