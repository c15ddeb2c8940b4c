//! The edges of one object, which is a bus or a shard.

mod connections;
mod delivery;
mod edge;
mod follow;
mod name_budget;

use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    vocabulary::{
        event::ServerEvent,
        position::Position,
        topic::{Delta, Index, Topic, Topics},
        uri::Uri,
    },
    wire,
};

pub use delivery::Delivery;
pub use edge::EdgeId;
pub(super) use follow::EdgeFrame;
pub use name_budget::NameBudget;

use connections::Connections;
use delivery::EdgesByPrevious;
use edge::Attached;

/// The edges of one object: the topics, the last call and the last sent position of each, and the
/// room for names.
///
/// The bus and the shard add what differs: where events come from, and when additions take effect.
#[derive(Debug, Default)]
pub struct Registry {
    connections: Connections,
    index: Index<EdgeId>,
    room: NameBudget,
    attached: usize,
    next: u32,
}

/// The state of the edges.
impl Registry {
    /// Returns the topics of an edge.
    pub fn topics(&self, edge: EdgeId) -> Option<&Topics> {
        self.get(edge).map(|attached| &attached.topics)
    }

    /// Returns the topics of an edge as texts of bounded size, which have to be stored.
    pub fn stored_topics(&self, edge: EdgeId) -> Vec<String> {
        self.topics(edge).map_or_else(Vec::new, wire::encode_topics)
    }

    /// Returns the number of an edge's last follow; `None` if it follows nothing yet.
    pub fn seq(&self, edge: EdgeId) -> Option<u64> {
        self.get(edge).map(|attached| attached.seq)
    }

    /// Returns the position of the last frame that an edge was sent.
    pub fn last(&self, edge: EdgeId) -> Option<Position> {
        self.get(edge)?.last
    }

    /// Returns the bytes of the names of an edge.
    pub fn name_bytes_of(&self, edge: EdgeId) -> usize {
        self.topics(edge).map_or(0, Topics::name_bytes)
    }

    /// Returns the bytes of the names of all edges.
    pub fn name_bytes(&self) -> usize {
        self.room.used()
    }

    /// Returns the number of edges that have attached.
    pub fn attached(&self) -> usize {
        self.attached
    }
}

impl Registry {
    /// Sets the limits of the edges.
    pub(super) fn set_room(&mut self, room: NameBudget) {
        self.room = room;
    }

    pub(super) fn room(&self) -> &NameBudget {
        &self.room
    }

    pub(super) fn room_mut(&mut self) -> &mut NameBudget {
        &mut self.room
    }

    /// Whether there is room for these topics in place of those that the edge holds.
    pub(super) fn admits(&self, edge: EdgeId, topics: &Topics) -> bool {
        self.room
            .admits(self.name_bytes_of(edge), topics.name_bytes())
    }

    /// Whether there is room for these topics of an edge that reconnects.
    pub(super) fn admits_back(&self, edge: EdgeId, topics: &Topics) -> bool {
        self.room
            .admits_back(self.name_bytes_of(edge), topics.name_bytes())
    }

    /// Whether there is room for a change of topics.
    pub(super) fn admits_change(&self, edge: EdgeId, delta: &Delta) -> bool {
        let held = self.name_bytes_of(edge);
        let to = held + name_bytes_of(&delta.add) - name_bytes_of(&delta.drop);
        self.room.admits(held, to)
    }

    /// Adds a connection; it receives nothing until it follows something.
    pub(super) fn connect(&mut self) -> EdgeId {
        let edge = EdgeId(self.next);
        self.next = self.next.wrapping_add(1);
        self.connections.insert(edge);
        edge
    }

    /// Removes an edge; returns its previous state if it had attached.
    pub(super) fn disconnect(&mut self, edge: EdgeId) -> Option<Attached> {
        let former = self.leave(edge);
        self.connections.remove(edge);
        former
    }

    /// Restores an edge after a restart, with the values of [`Registry::last`] and
    /// [`Registry::seq`].
    pub(super) fn restore(&mut self, topics: &Topics, last: Option<Position>, seq: u64) -> EdgeId {
        let edge = self.connect();
        self.enter(edge, topics, seq, last, false);
        edge
    }

    /// Sets the topics of an edge, in place of its previous ones.
    pub(super) fn enter(
        &mut self,
        edge: EdgeId,
        topics: &Topics,
        seq: u64,
        last: Option<Position>,
        is_waiting: bool,
    ) {
        self.leave(edge);
        let mut shared = Topics::default();
        for topic in topics.iter() {
            shared.insert(self.index.insert(edge, topic.clone()));
        }
        self.room.change(0, shared.name_bytes());
        self.attached += 1;
        let attached = Attached {
            topics: shared,
            seq,
            last,
            is_waiting,
        };
        self.connections.attach(edge, attached);
    }

    /// Changes the topics of an edge, at a cost proportional to the change.
    pub(super) fn change(&mut self, edge: EdgeId, delta: &Delta) {
        let Some(attached) = self.connections.get_mut(edge) else {
            return;
        };
        let held = attached.topics.name_bytes();
        for topic in &delta.drop {
            self.index.remove(edge, topic);
            attached.topics.remove(topic);
        }
        for topic in &delta.add {
            attached
                .topics
                .insert(self.index.insert(edge, topic.clone()));
        }
        self.room.change(held, attached.topics.name_bytes());
    }

    /// Replaces the resources among the topics of an edge. Returns what that changes.
    pub(super) fn set_resources(&mut self, edge: EdgeId, uris: &[Uri]) -> Option<Delta> {
        let attached = self.get(edge)?;
        if attached.topics.contains(&Topic::Everything) {
            return Some(Delta::default());
        }
        let wanted: Topics = uris.iter().cloned().map(Topic::Resource).collect();
        let held = attached.topics.iter().filter(|topic| topic.is_resource());
        let delta = Delta {
            drop: held
                .filter(|topic| !wanted.contains(topic))
                .cloned()
                .collect(),
            add: wanted.without(&attached.topics),
        };
        self.change(edge, &delta);
        Some(delta)
    }

    /// Returns the limit of names that an edge is sent; `None`: unlimited.
    pub(super) fn reported_room(&self, edge: EdgeId) -> Option<usize> {
        let room = self.room.of(self.name_bytes_of(edge));
        (room < usize::MAX).then_some(room)
    }

    /// Removes an edge from the index; its connection stays.
    pub(super) fn leave(&mut self, edge: EdgeId) -> Option<Attached> {
        let former = self.connections.take(edge)?;
        for topic in former.topics.iter() {
            self.index.remove(edge, topic);
        }
        self.room.change(former.topics.name_bytes(), 0);
        self.attached -= 1;
        Some(former)
    }

    /// Whether an edge waits for the reply to a fresh follow.
    pub(super) fn is_waiting(&self, edge: EdgeId) -> bool {
        self.get(edge).is_some_and(|attached| attached.is_waiting)
    }

    pub(super) fn get(&self, edge: EdgeId) -> Option<&Attached> {
        self.connections.get(edge)
    }

    fn get_mut(&mut self, edge: EdgeId) -> Option<&mut Attached> {
        self.connections.get_mut(edge)
    }

    /// Returns all connections, attached or not.
    pub(super) fn ids(&self) -> impl Iterator<Item = EdgeId> {
        self.connections.ids()
    }

    /// Returns the topics of all attached edges.
    pub(super) fn all_topics(&self) -> impl Iterator<Item = &Topic> {
        self.index.topics()
    }

    /// See [`Index::take_changed`].
    pub(super) fn take_changed(&mut self) -> Option<Topics> {
        self.index.take_changed()
    }

    /// Whether any attached edge has this topic.
    pub(super) fn contains(&self, topic: &Topic) -> bool {
        self.index.contains(topic)
    }

    /// Returns the bytes of the names that have to be followed for the edges, each name once.
    pub(super) fn followed_name_bytes(&self) -> usize {
        self.index.name_bytes()
    }

    /// Returns the bytes that these topics would add to [`Registry::followed_name_bytes`].
    pub(super) fn new_name_bytes<'k>(&self, topics: impl Iterator<Item = &'k Topic>) -> usize {
        let new = topics.filter(|topic| !self.index.contains(topic));
        new.map(Topic::followed_name_bytes).sum()
    }

    pub(super) fn is_wanted(&self, topic: &Topic) -> bool {
        self.index.contains(topic)
    }

    /// Returns the frames of an event. Edges with different last sent positions get different
    /// frames; after one event that all of them receive they form one group.
    pub(super) fn deliveries(
        &mut self,
        position: Position,
        at: Option<Millis>,
        event: &ServerEvent,
    ) -> Vec<Delivery> {
        let edges = self.index.matching(event);
        let mut by_previous = EdgesByPrevious::default();
        let mut take = |edge, attached: &mut Attached| {
            if !attached.is_waiting && attached.last.is_none_or(|last| last < position) {
                by_previous.push(attached.last.replace(position), edge);
            }
        };
        if edges.len() > self.connections.len() / DENSE {
            let mut wanted = edges.iter().peekable();
            for (edge, attached) in self.connections.iter_mut() {
                if wanted.next_if_eq(&&edge).is_some() {
                    take(edge, attached);
                }
            }
        } else {
            for edge in edges {
                if let Some(attached) = self.connections.get_mut(edge) {
                    take(edge, attached);
                }
            }
        }
        by_previous.into_deliveries(position, at, event)
    }
}

impl Attached {
    /// Returns the topics that have to be followed for the edge; a topic may occur twice.
    pub(super) fn followed(&self) -> impl Iterator<Item = Topic> + '_ {
        self.topics.iter().map(Topic::followed)
    }
}

fn name_bytes_of(topics: &[Topic]) -> usize {
    topics.iter().map(Topic::name_bytes).sum()
}

/// If more than one in this many edges receives an event, a pass over all edges is faster than a
/// lookup of each.
const DENSE: usize = 8;
