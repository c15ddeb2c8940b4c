use std::collections::BTreeMap;

use crate::{
    clock::Millis, event::ServerEvent, filter::SubscriptionFilter, position::Position, uri::Uri,
};

use super::{
    adjust::Adjust,
    delivery::{Delivery, Groups},
    index::{EdgeId, Index},
    interest::Interest,
    key::Key,
    keys::Keys,
    room::Room,
};

/// The edges of one bus object: what each wants, and what it was sent last.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    all: BTreeMap<EdgeId, Option<Attached>>,
    index: Index,
    room: Room,
    attached: usize,
    next: u32,
}

/// What is known of an edge that has attached.
#[derive(Debug)]
pub(crate) struct Attached {
    keys: Keys,
    /// The place of the last frame that it was sent; `None` where that was forgotten.
    pub(crate) last: Option<Position>,
    /// Its attach has not been answered: it gets nothing yet.
    pub(crate) is_waiting: bool,
}

/// Which keys an edge is entered under that it was not before, and the other way round.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    pub(crate) added: Vec<Key>,
    pub(crate) dropped: Vec<Key>,
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
    pub(crate) fn admits(&self, edge: EdgeId, keys: &Keys) -> bool {
        self.room.admits(self.bytes(edge), keys.bytes())
    }

    /// The same where it comes back.
    pub(crate) fn admits_back(&self, edge: EdgeId, keys: &Keys) -> bool {
        self.room.admits_back(self.bytes(edge), keys.bytes())
    }

    /// Whether there is room for what this changes.
    pub(crate) fn admits_change(&self, edge: EdgeId, delta: &Delta) -> bool {
        let held = self.bytes(edge);
        let to = held + names_of(&delta.added) - names_of(&delta.dropped);
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
        keys: &Keys,
        last: Option<Position>,
        is_waiting: bool,
    ) {
        self.leave(edge);
        let mut shared = Keys::default();
        for key in keys.iter() {
            shared.insert(self.index.insert(edge, key.clone()));
        }
        self.room.change(0, shared.bytes());
        self.attached += 1;
        let attached = Attached {
            keys: shared,
            last,
            is_waiting,
        };
        self.all.insert(edge, Some(attached));
    }

    /// What a change comes to for an edge that has attached, and does not want everything.
    pub(crate) fn delta(&self, edge: EdgeId, adjust: &Adjust) -> Option<Delta> {
        let keys = &self.get(edge)?.keys;
        if keys.contains(&Key::Everything) {
            return Some(Delta::default());
        }
        Some(Delta {
            added: adjust.added(keys),
            dropped: adjust.dropped(keys),
        })
    }

    /// What changes for an edge that has attached, if it wants these keys from now on.
    pub(crate) fn delta_to(&self, edge: EdgeId, wanted: &Keys) -> Option<Delta> {
        let held = &self.get(edge)?.keys;
        let missing = |from: &Keys, to: &Keys| {
            let missing = to.iter().filter(|key| !from.contains(key));
            missing.cloned().collect()
        };
        Some(Delta {
            added: missing(held, wanted),
            dropped: missing(wanted, held),
        })
    }

    /// Changes what an edge wants, at the cost of the change.
    pub(crate) fn change(&mut self, edge: EdgeId, delta: &Delta) {
        let Some(Some(attached)) = self.all.get_mut(&edge) else {
            return;
        };
        let held = attached.keys.bytes();
        for key in &delta.dropped {
            self.index.remove(edge, key);
            attached.keys.remove(key);
        }
        for key in &delta.added {
            attached.keys.insert(self.index.insert(edge, key.clone()));
        }
        self.room.change(held, attached.keys.bytes());
    }

    /// The resources that an edge wants are these from now on. Returns what that changes.
    pub(crate) fn watch(&mut self, edge: EdgeId, uris: &[Uri]) -> Option<Delta> {
        let attached = self.get(edge)?;
        if attached.keys.contains(&Key::Everything) {
            return Some(Delta::default());
        }
        let mut wanted = Keys::default();
        for uri in uris {
            wanted.insert(Key::Resource(uri.clone()));
        }
        let held = attached.keys.iter().filter(|key| key.is_resource());
        let delta = Delta {
            dropped: held.filter(|key| !wanted.contains(key)).cloned().collect(),
            added: wanted
                .iter()
                .filter(|key| !attached.keys.contains(key))
                .cloned()
                .collect(),
        };
        self.change(edge, &delta);
        Some(delta)
    }

    /// Takes an edge out of the index; its connection stays.
    pub(crate) fn leave(&mut self, edge: EdgeId) -> Option<Attached> {
        let former = self.all.get_mut(&edge)?.take()?;
        for key in former.keys.iter() {
            self.index.remove(edge, key);
        }
        self.room.change(former.keys.bytes(), 0);
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

    /// Whether there are no connections.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn attached(&self) -> usize {
        self.attached
    }

    /// What all that have attached want together.
    pub(crate) fn interest(&self) -> Interest {
        self.index.interest()
    }

    /// The same, but for those that want everything.
    pub(crate) fn filter(&self) -> SubscriptionFilter {
        self.index.filter()
    }

    /// Bytes that the names of all that they want count, each name once.
    pub(crate) fn names(&self) -> usize {
        self.index.names()
    }

    /// Bytes that these keys would add to [`Edges::names`].
    pub(crate) fn new_names<'k>(&self, keys: impl Iterator<Item = &'k Key>) -> usize {
        let new = keys.filter(|key| !self.index.contains(key));
        new.map(Key::followed_names).sum()
    }

    /// How many times the index was changed so far.
    pub(crate) fn operations(&self) -> u64 {
        self.index.operations()
    }

    /// Those that want `event`, each once.
    pub(crate) fn matching(&self, event: &ServerEvent) -> Vec<EdgeId> {
        self.index.matching(event)
    }

    pub(crate) fn is_wanted(&self, key: &Key) -> bool {
        self.index.contains(key)
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
        self.get(edge).map_or(0, |attached| attached.keys.bytes())
    }
}

impl Attached {
    /// What it wants.
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// What has to be followed for it; a key may come twice.
    pub(crate) fn followed(&self) -> impl Iterator<Item = Key> + '_ {
        self.keys.iter().map(Key::followed)
    }
}

fn names_of(keys: &[Key]) -> usize {
    keys.iter().map(Key::names).sum()
}

/// Where more than one in so many edges gets an event, passing over all of them is faster than looking each up.
const DENSE: usize = 8;
