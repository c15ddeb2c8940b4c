//! The bus: what was published, and who wants to hear it.

mod change;
mod follow_reply;
mod following;
mod follows;
mod low;
mod outbox;
mod placement;
mod post;
mod recent;
mod registry;
mod replay;
mod shard;
mod shards;

use alloc::vec::Vec;

pub use crate::vocabulary::position::{Mark, Position};
pub use change::{BatchCall, Change};
pub use follow_reply::{FollowReply, Follower, Keeps};
pub use following::Received;
pub use placement::{Home, ShardId};
pub use registry::{Delivery, EdgeId, Registry, Room};
pub use shard::{FollowCall, Parting, Shard, ShardOutput, ShardReceived};

use crate::{
    clock::Millis,
    vocabulary::{
        event::ServerEvent,
        filter::SubscriptionFilter,
        scope::Scope,
        topic::{Topic, Topics},
    },
};
use recent::Recent;
use shards::Shards;

/// A bus without its I/O: gives each published event a position, and says which edges and which shards it goes to.
///
/// Whoever drives it writes an event to the log first, then sends. It makes durable what [`Bus::poll_change`] gives
/// before it answers anybody, and makes the calls that [`Bus::poll_batch`] gives. After a restart, [`Bus::new`] and the
/// `restore` functions bring back what was durable.
#[derive(Debug)]
pub struct Bus {
    mark: Mark,
    floor: Position,
    edges: Registry,
    /// What the log tells, once somebody has asked what was missed, and until it is trimmed.
    recent: Option<Recent>,
    shards: Shards,
}

/// One published event, ready to be logged and sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Its place in the log.
    pub position: Position,
    /// Which edges get it, and as which frame.
    pub deliveries: Vec<Delivery>,
}

impl Bus {
    /// A bus whose log ends at `mark` and of which nothing can be replayed. It opens no shards.
    pub fn new(mark: Mark) -> Self {
        Self {
            floor: mark.position,
            mark,
            edges: Registry::default(),
            recent: None,
            shards: Shards::default(),
        }
    }

    /// The log holds every event after `floor`.
    #[must_use]
    pub fn with_floor(mut self, floor: Position) -> Self {
        self.floor = floor;
        self
    }

    /// Bounds the names of all edges together to `most` bytes, for at most so many edges; what shards follow counts, too.
    /// Before there is any edge.
    pub fn set_room(&mut self, most: usize, edges: usize) {
        self.edges.set_room(Room::new(most, edges));
        self.count_follows();
    }

    /// What is known of its own edges.
    pub fn registry(&self) -> &Registry {
        &self.edges
    }

    /// The log has let go of events: it holds every one after `floor`.
    pub fn handle_trimmed(&mut self, floor: Position) {
        if floor > self.floor {
            self.recent = None;
        }
        self.floor = floor;
    }

    /// An event was published, nobody says when.
    pub fn publish(&mut self, event: &ServerEvent) -> Publication {
        self.publish_at(event, None)
    }

    /// An event was published, `at` so many milliseconds after 1970: streams count how long it took to write it.
    pub fn publish_at(&mut self, event: &ServerEvent, at: Option<Millis>) -> Publication {
        self.mark.position = self.mark.position.next();
        let position = self.mark.position;
        if let Some(recent) = &mut self.recent {
            recent.push(position, event);
        }
        self.owe(position, at, event);
        Publication {
            position,
            deliveries: self.edges.deliveries(position, at, event),
        }
    }

    /// Where the log ends.
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    /// What the streams of all edges and of all shards want together: changes, whoever may know of them. A listener to
    /// everything is no stream, and asks for nothing.
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

impl Publication {
    /// Who gets it, in ascending order.
    pub fn edges(&self) -> Vec<EdgeId> {
        let mut edges: Vec<EdgeId> = self
            .deliveries
            .iter()
            .flat_map(|delivery| delivery.edges.iter().copied())
            .collect();
        edges.sort_unstable();
        edges
    }

    /// The frame that `edge` gets.
    pub fn message_for(&self, edge: EdgeId) -> Option<&str> {
        let delivery = self
            .deliveries
            .iter()
            .find(|delivery| delivery.edges.contains(&edge))?;
        Some(&delivery.message)
    }
}
