use alloc::vec::Vec;

use super::{Attached, EdgeId};

/// All connections by their numbers, which ascend: a new one comes last.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<(EdgeId, Slot)>,
    /// The number of removed connections, which stay in place until they are half of all.
    gone: usize,
}

/// The state of one connection.
#[derive(Debug)]
enum Slot {
    Gone,
    Connected,
    Attached(Attached),
}

impl Slots {
    /// Returns the number of connections.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.gone
    }

    /// Adds a connection that has not attached.
    pub(super) fn insert(&mut self, edge: EdgeId) {
        let place = self.slots.partition_point(|(other, _)| *other < edge);
        self.slots.insert(place, (edge, Slot::Connected));
    }

    /// Removes a connection.
    pub(super) fn remove(&mut self, edge: EdgeId) {
        let Some(slot) = self.slot_mut(edge) else {
            return;
        };
        *slot = Slot::Gone;
        self.gone += 1;
        if self.gone * 2 > self.slots.len() {
            self.slots.retain(|(_, slot)| !matches!(slot, Slot::Gone));
            self.gone = 0;
        }
    }

    /// Attaches a connection, if it exists.
    pub(super) fn attach(&mut self, edge: EdgeId, attached: Attached) {
        if let Some(slot) = self.slot_mut(edge) {
            *slot = Slot::Attached(attached);
        }
    }

    /// Detaches a connection, which stays.
    pub(super) fn take(&mut self, edge: EdgeId) -> Option<Attached> {
        let slot = self.slot_mut(edge)?;
        match core::mem::replace(slot, Slot::Connected) {
            Slot::Attached(attached) => Some(attached),
            Slot::Connected | Slot::Gone => None,
        }
    }

    /// Whether this connection exists.
    pub(super) fn contains(&self, edge: EdgeId) -> bool {
        self.slot(edge).is_some()
    }

    /// Returns the state of a connection that has attached.
    pub(super) fn get(&self, edge: EdgeId) -> Option<&Attached> {
        match self.slot(edge)? {
            Slot::Attached(attached) => Some(attached),
            Slot::Connected | Slot::Gone => None,
        }
    }

    /// Returns the state of a connection that has attached, mutably.
    pub(super) fn get_mut(&mut self, edge: EdgeId) -> Option<&mut Attached> {
        match self.slot_mut(edge)? {
            Slot::Attached(attached) => Some(attached),
            Slot::Connected | Slot::Gone => None,
        }
    }

    /// Returns all connections in ascending order.
    pub(super) fn ids(&self) -> impl Iterator<Item = EdgeId> {
        let there = self.slots.iter();
        let there = there.filter(|(_, slot)| !matches!(slot, Slot::Gone));
        there.map(|(edge, _)| *edge)
    }

    /// Returns the attached connections in ascending order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (EdgeId, &mut Attached)> {
        self.slots.iter_mut().filter_map(|(edge, slot)| match slot {
            Slot::Attached(attached) => Some((*edge, attached)),
            Slot::Connected | Slot::Gone => None,
        })
    }

    fn slot(&self, edge: EdgeId) -> Option<&Slot> {
        let (_, slot) = self.slots.get(self.place(edge)?)?;
        Some(slot).filter(|slot| !matches!(slot, Slot::Gone))
    }

    fn slot_mut(&mut self, edge: EdgeId) -> Option<&mut Slot> {
        let place = self.place(edge)?;
        let (_, slot) = self.slots.get_mut(place)?;
        Some(slot).filter(|slot| !matches!(slot, Slot::Gone))
    }

    /// Returns the index of a connection: usually its distance from the first one's number.
    fn place(&self, edge: EdgeId) -> Option<usize> {
        let (first, _) = self.slots.first()?;
        let likely = edge.0.checked_sub(first.0)? as usize;
        if self.slots.get(likely).is_some_and(|(id, _)| *id == edge) {
            return Some(likely);
        }
        let found = self.slots.binary_search_by_key(&edge, |(id, _)| *id);
        found.ok()
    }
}
