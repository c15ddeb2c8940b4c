//! The bus: gives published events their positions and delivers them to the edges and shards that
//! follow their topics.

mod dispatcher;
mod follow_reply;
mod following;
mod follows;
mod journal;
mod latest_by_topic;
mod low_watermark;
mod outbox;
mod placement;
mod registry;
mod replay;
mod shard;
mod shards;

use alloc::vec::Vec;

pub use crate::vocabulary::position::{Cursor, Position};
pub use follow_reply::{FollowReply, Follower, Persist};
pub use following::Received;
pub use journal::{BatchCall, JournalEntry};
pub use placement::{Route, ShardId};
pub use registry::{Delivery, EdgeId, Registry, Room};
pub use shard::{EdgeCloseReason, FollowCall, Shard, ShardOutput, ShardReceived};

use crate::{
    clock::Millis,
    vocabulary::{
        event::ServerEvent,
        filter::SubscriptionFilter,
        scope::Scope,
        topic::{Topic, Topics},
    },
};
use latest_by_topic::LatestByTopic;
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
    /// The latest event of each topic in the log, from the first request for missed events until
    /// the log is trimmed.
    latest: Option<LatestByTopic>,
    shards: Shards,
}

/// A published event, ready to be logged and sent.
#[derive(Clone, Debug, PartialEq, Eq)]
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
            latest: None,
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
        self.edges.set_room(Room::new(max_bytes, edges));
        self.count_follows();
    }

    /// Returns the registry of the bus's own edges.
    pub fn registry(&self) -> &Registry {
        &self.edges
    }

    /// Handles the trimming of the log, which now holds every event after `floor`.
    pub fn handle_trimmed(&mut self, floor: Position) {
        if floor > self.floor {
            self.latest = None;
        }
        self.floor = floor;
    }

    /// Publishes an event, `at` milliseconds after 1970, from which streams measure the delay of
    /// its delivery.
    pub fn publish_at(&mut self, event: &ServerEvent, at: Option<Millis>) -> Publication {
        self.cursor.position = self.cursor.position.next();
        let position = self.cursor.position;
        if let Some(latest) = &mut self.latest {
            latest.push(position, event);
        }
        self.enqueue(position, at, event);
        Publication {
            position,
            deliveries: self.edges.deliveries(position, at, event),
        }
    }

    /// Returns the end of the log.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Whether the filter of any stream names this topic, at an edge or at a shard.
    pub fn wants(&self, topic: &Topic) -> bool {
        self.edges.contains(topic) || self.shards.follows.contains(topic)
    }

    /// Returns the union of the filters of all streams, at edges and at shards, regardless of who
    /// may receive the changes. Subscribers to everything are not streams and add nothing.
    pub fn wanted(&self) -> SubscriptionFilter {
        let topics = self.edges.all_topics().chain(self.shards.follows.topics());
        let topics: Topics = topics.cloned().collect();
        let topics: Vec<Topic> = topics.iter().cloned().collect();
        SubscriptionFilter {
            scope: Scope::default(),
            ..topics.into()
        }
    }
}
