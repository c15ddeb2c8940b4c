use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::{
    clock::Millis,
    event::ServerEvent,
    position::Position,
    topic::{Delta, Index, Topic, Topics},
    uri::Uri,
};

use super::{
    delivery::{Delivery, Groups},
    room::Room,
};

/// One edge of a bus, as the bus numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(pub u32);

/// The edges of one bus object: what each wants, and what it was sent last.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    all: BTreeMap<EdgeId, Option<Attached>>,
    index: Index<EdgeId>,
    room: Room,
    attached: usize,
    next: u32,
}

/// What is known of an edge that has attached.
#[derive(Debug)]
pub(crate) struct Attached {
    topics: Topics,
    /// The place of the last frame that it was sent; `None` where that was forgotten.
    pub(crate) last: Option<Position>,
    /// The number of what it said last, and of what it was told that it is done.
    pub(crate) seq: u64,
    /// Its fresh follow has not been answered: it gets nothing yet.
    pub(crate) is_waiting: bool,
}

impl Edges {
    /// Bounds what the edges hold.
    pub(crate) fn set_room(&mut self, room: Room) {
        self.room = room;
    }

    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    pub(crate) fn room_mut(&mut self) -> &mut Room {
        &mut self.room
    }

    /// The most bytes that an edge may come to hold.
    pub(crate) fn room_of(&self, edge: EdgeId) -> usize {
        self.room.of(self.bytes(edge))
    }

    /// Whether there is room for an edge to hold this in place of what it holds.
    pub(crate) fn admits(&self, edge: EdgeId, topics: &Topics) -> bool {
        self.room.admits(self.bytes(edge), topics.bytes())
    }

    /// The same where it comes back.
    pub(crate) fn admits_back(&self, edge: EdgeId, topics: &Topics) -> bool {
        self.room.admits_back(self.bytes(edge), topics.bytes())
    }

    /// Whether there is room for what this changes.
    pub(crate) fn admits_change(&self, edge: EdgeId, delta: &Delta) -> bool {
        let held = self.bytes(edge);
        let to = held + names_of(&delta.add) - names_of(&delta.drop);
        self.room.admits(held, to)
    }

    pub(crate) fn connect(&mut self) -> EdgeId {
        let edge = EdgeId(self.next);
        self.next = self.next.wrapping_add(1);
        self.all.insert(edge, None);
        edge
    }

    /// Takes an edge out; the answer is what it had attached for.
    pub(crate) fn disconnect(&mut self, edge: EdgeId) -> Option<Attached> {
        let former = self.leave(edge);
        self.all.remove(&edge);
        former
    }

    /// An edge wants this from now on, in place of what it wanted before.
    pub(crate) fn enter(
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
        self.all.insert(edge, Some(attached));
    }

    /// Changes what an edge wants, at the cost of the change.
    pub(crate) fn change(&mut self, edge: EdgeId, delta: &Delta) {
        let Some(Some(attached)) = self.all.get_mut(&edge) else {
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
    pub(crate) fn watch(&mut self, edge: EdgeId, uris: &[Uri]) -> Option<Delta> {
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

    /// The number of what an edge said last that changed something; `None`: it has said nothing yet.
    pub(crate) fn seq(&self, edge: EdgeId) -> Option<u64> {
        self.get(edge).map(|attached| attached.seq)
    }

    /// An edge has said something more.
    pub(crate) fn count(&mut self, edge: EdgeId, seq: u64) {
        if let Some(attached) = self.get_mut(edge) {
            attached.seq = seq;
        }
    }

    /// What an edge is told of the room that it has; `None`: there are no bounds.
    pub(crate) fn told_room(&self, edge: EdgeId) -> Option<usize> {
        let room = self.room_of(edge);
        (room < usize::MAX).then_some(room)
    }

    /// Takes an edge out of the index; its connection stays.
    pub(crate) fn leave(&mut self, edge: EdgeId) -> Option<Attached> {
        let former = self.all.get_mut(&edge)?.take()?;
        for topic in former.topics.iter() {
            self.index.remove(edge, topic);
        }
        self.room.change(former.topics.bytes(), 0);
        self.attached -= 1;
        Some(former)
    }

    pub(crate) fn is_connected(&self, edge: EdgeId) -> bool {
        self.all.contains_key(&edge)
    }

    pub(crate) fn get(&self, edge: EdgeId) -> Option<&Attached> {
        self.all.get(&edge)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, edge: EdgeId) -> Option<&mut Attached> {
        self.all.get_mut(&edge)?.as_mut()
    }

    /// All connections, attached or not.
    pub(crate) fn ids(&self) -> impl Iterator<Item = EdgeId> {
        self.all.keys().copied()
    }

    pub(crate) fn attached(&self) -> usize {
        self.attached
    }

    /// The topics of all that have attached.
    pub(crate) fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.index.topics()
    }

    /// Bytes that the names of all that they want count, each name once.
    pub(crate) fn names(&self) -> usize {
        self.index.names()
    }

    /// Bytes that these topics would add to [`Edges::names`].
    pub(crate) fn new_names<'k>(&self, topics: impl Iterator<Item = &'k Topic>) -> usize {
        let new = topics.filter(|topic| !self.index.contains(topic));
        new.map(Topic::followed_names).sum()
    }

    /// How many times the index was changed so far.
    pub(crate) fn operations(&self) -> u64 {
        self.index.operations()
    }

    pub(crate) fn is_wanted(&self, topic: &Topic) -> bool {
        self.index.contains(topic)
    }

    /// The frames of an event. Edges that were last sent different positions get different
    /// frames; after one event that all of them want they are one group.
    pub(crate) fn deliveries(
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
            for (edge, attached) in &mut self.all {
                if wanted.next_if_eq(&edge).is_some()
                    && let Some(attached) = attached
                {
                    take(*edge, attached);
                }
            }
        } else {
            for edge in edges {
                if let Some(Some(attached)) = self.all.get_mut(&edge) {
                    take(edge, attached);
                }
            }
        }
        groups.into_deliveries(position, at, event)
    }

    fn bytes(&self, edge: EdgeId) -> usize {
        self.get(edge).map_or(0, |attached| attached.topics.bytes())
    }
}

impl Attached {
    /// What it wants.
    pub(crate) fn topics(&self) -> &Topics {
        &self.topics
    }

    /// What has to be followed for it; a topic may come twice.
    pub(crate) fn followed(&self) -> impl Iterator<Item = Topic> + '_ {
        self.topics.iter().map(Topic::followed)
    }
}

fn names_of(topics: &[Topic]) -> usize {
    topics.iter().map(Topic::names).sum()
}

/// Where more than one in so many edges gets an event, passing over all of them is faster than looking each up.
const DENSE: usize = 8;
