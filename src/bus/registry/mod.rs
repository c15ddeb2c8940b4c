//! The edges of one object, of a bus or of a shard alike.

mod delivery;
mod follow;
mod room;
mod slots;

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
pub(super) use follow::Frame;
pub use room::Room;

use delivery::Groups;
use slots::Slots;

/// One edge of a bus, as the bus numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(pub u32);

/// The edges of one object: what each follows, what it said last and was sent last, and the room that there is.
///
/// What differs between a bus and a shard is theirs: where events come from, and when what an edge adds is followed.
#[derive(Debug, Default)]
pub struct Registry {
    all: Slots,
    index: Index<EdgeId>,
    room: Room,
    attached: usize,
    next: u32,
}

/// What is known of an edge that has attached.
#[derive(Debug)]
pub(super) struct Attached {
    topics: Topics,
    /// The place of the last frame that it was sent; `None` where that was forgotten.
    last: Option<Position>,
    /// The number of what it said last, and of what it was told that it is done.
    seq: u64,
    /// Its fresh follow has not been answered: it gets nothing yet.
    is_waiting: bool,
}

/// What is known of the edges.
impl Registry {
    /// What an edge follows.
    pub fn topics(&self, edge: EdgeId) -> Option<&Topics> {
        self.get(edge).map(|attached| &attached.topics)
    }

    /// What an edge follows, as texts of bounded size: what has to be kept of it.
    pub fn kept(&self, edge: EdgeId) -> Vec<String> {
        self.topics(edge).map_or_else(Vec::new, wire::kept)
    }

    /// The number of what an edge said last; `None`: it follows nothing yet.
    pub fn seq(&self, edge: EdgeId) -> Option<u64> {
        self.get(edge).map(|attached| attached.seq)
    }

    /// The place of the last frame that an edge was sent.
    pub fn last(&self, edge: EdgeId) -> Option<Position> {
        self.get(edge)?.last
    }

    /// Bytes that the names of an edge count.
    pub fn held(&self, edge: EdgeId) -> usize {
        self.topics(edge).map_or(0, Topics::bytes)
    }

    /// Bytes that the names of all edges count.
    pub fn names(&self) -> usize {
        self.room.held()
    }

    /// How many edges have attached.
    pub fn attached(&self) -> usize {
        self.attached
    }

    /// How many times a topic of an edge was entered or taken out so far.
    pub fn operations(&self) -> u64 {
        self.index.operations()
    }
}

impl Registry {
    /// Bounds what the edges hold.
    pub(super) fn set_room(&mut self, room: Room) {
        self.room = room;
    }

    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    pub(super) fn room_mut(&mut self) -> &mut Room {
        &mut self.room
    }

    /// Whether there is room for an edge to hold this in place of what it holds.
    pub(super) fn admits(&self, edge: EdgeId, topics: &Topics) -> bool {
        self.room.admits(self.held(edge), topics.bytes())
    }

    /// The same where it comes back.
    pub(super) fn admits_back(&self, edge: EdgeId, topics: &Topics) -> bool {
        self.room.admits_back(self.held(edge), topics.bytes())
    }

    /// Whether there is room for what this changes.
    pub(super) fn admits_change(&self, edge: EdgeId, delta: &Delta) -> bool {
        let held = self.held(edge);
        let to = held + names_of(&delta.add) - names_of(&delta.drop);
        self.room.admits(held, to)
    }

    /// A connection came up; it gets nothing until it follows something.
    pub(super) fn connect(&mut self) -> EdgeId {
        let edge = EdgeId(self.next);
        self.next = self.next.wrapping_add(1);
        self.all.insert(edge);
        edge
    }

    /// Takes an edge out; the answer is what it had attached for.
    pub(super) fn disconnect(&mut self, edge: EdgeId) -> Option<Attached> {
        let former = self.leave(edge);
        self.all.remove(edge);
        former
    }

    /// An edge of before a restart, with what [`Registry::last`] and [`Registry::seq`] said of it.
    pub(super) fn restore(&mut self, topics: &Topics, last: Option<Position>, seq: u64) -> EdgeId {
        let edge = self.connect();
        self.enter(edge, topics, seq, last, false);
        edge
    }

    /// An edge wants this from now on, in place of what it wanted before.
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
        self.room.change(0, shared.bytes());
        self.attached += 1;
        let attached = Attached {
            topics: shared,
            seq,
            last,
            is_waiting,
        };
        self.all.attach(edge, attached);
    }

    /// Changes what an edge wants, at the cost of the change.
    pub(super) fn change(&mut self, edge: EdgeId, delta: &Delta) {
        let Some(attached) = self.all.get_mut(edge) else {
            return;
        };
        let held = attached.topics.bytes();
        for topic in &delta.drop {
            self.index.remove(edge, topic);
            attached.topics.remove(topic);
        }
        for topic in &delta.add {
            attached
                .topics
                .insert(self.index.insert(edge, topic.clone()));
        }
        self.room.change(held, attached.topics.bytes());
    }

    /// The resources that an edge wants are these from now on. Returns what that changes.
    pub(super) fn watch(&mut self, edge: EdgeId, uris: &[Uri]) -> Option<Delta> {
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

    /// What an edge is told of the room that it has; `None`: there are no bounds.
    pub(super) fn told_room(&self, edge: EdgeId) -> Option<usize> {
        let room = self.room.of(self.held(edge));
        (room < usize::MAX).then_some(room)
    }

    /// Takes an edge out of the index; its connection stays.
    pub(super) fn leave(&mut self, edge: EdgeId) -> Option<Attached> {
        let former = self.all.take(edge)?;
        for topic in former.topics.iter() {
            self.index.remove(edge, topic);
        }
        self.room.change(former.topics.bytes(), 0);
        self.attached -= 1;
        Some(former)
    }

    /// Whether an edge waits for the answer to all that it follows.
    pub(super) fn is_waiting(&self, edge: EdgeId) -> bool {
        self.get(edge).is_some_and(|attached| attached.is_waiting)
    }

    pub(super) fn get(&self, edge: EdgeId) -> Option<&Attached> {
        self.all.get(edge)
    }

    fn get_mut(&mut self, edge: EdgeId) -> Option<&mut Attached> {
        self.all.get_mut(edge)
    }

    /// All connections, attached or not.
    pub(super) fn ids(&self) -> impl Iterator<Item = EdgeId> {
        self.all.ids()
    }

    /// The topics of all that have attached.
    pub(super) fn all_topics(&self) -> impl Iterator<Item = &Topic> {
        self.index.topics()
    }

    /// Bytes that the names of all that has to be followed for them count, each name once.
    pub(super) fn followed_names(&self) -> usize {
        self.index.names()
    }

    /// Bytes that these topics would add to [`Registry::followed_names`].
    pub(super) fn new_names<'k>(&self, topics: impl Iterator<Item = &'k Topic>) -> usize {
        let new = topics.filter(|topic| !self.index.contains(topic));
        new.map(Topic::followed_names).sum()
    }

    pub(super) fn is_wanted(&self, topic: &Topic) -> bool {
        self.index.contains(topic)
    }

    /// The frames of an event. Edges that were last sent different positions get different
    /// frames; after one event that all of them want they are one group.
    pub(super) fn deliveries(
        &mut self,
        position: Position,
        at: Option<Millis>,
        event: &ServerEvent,
    ) -> Vec<Delivery> {
        let edges = self.index.matching(event);
        let mut groups = Groups::default();
        let mut take = |edge, attached: &mut Attached| {
            if !attached.is_waiting && attached.last.is_none_or(|last| last < position) {
                groups.push(attached.last.replace(position), edge);
            }
        };
        if edges.len() > self.all.len() / DENSE {
            let mut wanted = edges.iter().peekable();
            for (edge, attached) in self.all.iter_mut() {
                if wanted.next_if_eq(&&edge).is_some() {
                    take(edge, attached);
                }
            }
        } else {
            for edge in edges {
                if let Some(attached) = self.all.get_mut(edge) {
                    take(edge, attached);
                }
            }
        }
        groups.into_deliveries(position, at, event)
    }
}

impl Attached {
    /// What has to be followed for it; a topic may come twice.
    pub(super) fn followed(&self) -> impl Iterator<Item = Topic> + '_ {
        self.topics.iter().map(Topic::followed)
    }
}

fn names_of(topics: &[Topic]) -> usize {
    topics.iter().map(Topic::names).sum()
}

/// Where more than one in so many edges gets an event, passing over all of them is faster than looking each up.
const DENSE: usize = 8;
