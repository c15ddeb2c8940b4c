use alloc::{boxed::Box, vec::Vec};

use crate::{clock::Millis, listen::ServerStream, vocabulary::position::Position};

use super::resume::Resume;

/// Identifies one stream of a fan-out. Slots are reused, each time with a higher generation, so an
/// id never identifies another stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    slot: u32,
    generation: u32,
}

impl StreamId {
    /// Returns the slot of the stream: a small number, unique among the open streams.
    pub fn slot(self) -> u32 {
        self.slot
    }
}

/// A stream in its slot.
#[derive(Debug)]
pub(super) struct StreamEntry {
    pub(super) stream: ServerStream,
    pub(super) id: StreamId,
    /// The number of its kind.
    pub(super) kind_number: u32,
    /// When its deadlines are checked next.
    pub(super) scheduled: Option<Millis>,
    /// It receives the events after this position in the log of the bus.
    pub(super) from: Position,
    /// Whether it is never written to by a publish: what it receives is pending until it is polled.
    pub(super) is_polled: bool,
    /// The event ids, for the stream of a session.
    pub(super) resume: Option<Box<Resume>>,
}

impl StreamEntry {
    /// Whether it receives an event at this position in the log of its bus; `None` without a log.
    pub(super) fn receives(&self, position: Option<Position>) -> bool {
        position.is_none_or(|position| self.from < position)
    }

    pub(super) fn new(
        id: StreamId,
        stream: ServerStream,
        kind_number: u32,
        from: Position,
    ) -> Self {
        Self {
            stream,
            id,
            kind_number,
            scheduled: None,
            from,
            is_polled: false,
            resume: None,
        }
    }
}

impl Identified for StreamEntry {
    fn id(&self) -> StreamId {
        self.id
    }
}

/// What a [`Slab`] holds.
pub(crate) trait Identified {
    /// Returns the id that the slab has assigned.
    fn id(&self) -> StreamId;
}

/// Streams by their slots. Each is boxed, since a vector that grows allocates twice what it needs.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Option<Box<T>>>,
    /// The ids to assign next.
    free: Vec<StreamId>,
    len: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            len: 0,
        }
    }
}

impl<T: Identified> Slab<T> {
    /// Adds the stream that `make` creates for its id.
    pub(crate) fn insert(&mut self, make: impl FnOnce(StreamId) -> T) -> StreamId {
        let id = self.free.pop().unwrap_or_else(|| self.new_slot());
        if let Some(slot) = self.entries.get_mut(id.slot as usize) {
            self.len += 1;
            *slot = Some(Box::new(make(id)));
        }
        id
    }

    pub(crate) fn remove(&mut self, id: StreamId) -> Option<Box<T>> {
        self.get(id)?;
        let entry = self.entries.get_mut(id.slot as usize)?.take()?;
        self.len -= 1;
        // A slot whose generations are used up is not reused.
        if let Some(generation) = id.generation.checked_add(1) {
            self.free.push(StreamId { generation, ..id });
        }
        Some(entry)
    }

    pub(crate) fn get(&self, id: StreamId) -> Option<&T> {
        self.at(id.slot).filter(|entry| entry.id() == id)
    }

    pub(crate) fn get_mut(&mut self, id: StreamId) -> Option<&mut T> {
        self.at_mut(id.slot).filter(|entry| entry.id() == id)
    }

    /// Returns the stream in a slot.
    pub(crate) fn at(&self, slot: u32) -> Option<&T> {
        self.entries.get(slot as usize)?.as_deref()
    }

    /// Returns the stream in a slot.
    pub(crate) fn at_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.entries.get_mut(slot as usize)?.as_deref_mut()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().filter_map(Option::as_deref_mut)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().filter_map(Option::as_deref)
    }

    /// Returns the number of slots; every slot is smaller.
    pub(crate) fn slot_count(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the id of a new slot.
    fn new_slot(&mut self) -> StreamId {
        let slot = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.entries.push(None);
        StreamId {
            slot,
            generation: 0,
        }
    }
}
