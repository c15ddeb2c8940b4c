use alloc::{boxed::Box, vec::Vec};

use crate::{clock::Millis, listen::ServerStream, vocabulary::position::Position};

use super::resume::Resume;

/// Identifies one stream of a fan-out, and never another one: slots are used again, each time with a further
/// generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    slot: u32,
    generation: u32,
}

impl StreamId {
    /// The place of the stream: a small number, which no other stream has as long as this one is held.
    pub fn slot(self) -> u32 {
        self.slot
    }
}

/// A stream that is held.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) stream: ServerStream,
    pub(super) id: StreamId,
    /// The number of its stamp.
    pub(super) group: u32,
    /// When its deadlines are looked at next.
    pub(super) planned: Option<Millis>,
    /// It hears what stands behind this in the log of a bus.
    pub(super) from: Position,
    /// Whether it is never written to at once: what it hears waits until it is polled.
    pub(super) is_polled: bool,
    /// Where it is that of a session.
    pub(super) resume: Option<Box<Resume>>,
}

impl Held {
    /// Whether it hears an event that stands there in the log of its bus; `None`: it has no log.
    pub(super) fn hears(&self, position: Option<Position>) -> bool {
        position.is_none_or(|position| self.from < position)
    }
}

/// Streams by their slots; each in a box of its own, since a list that grows holds twice what it needs.
#[derive(Debug, Default)]
pub(super) struct Slots {
    places: Vec<Option<Box<Held>>>,
    /// The ids that are given next.
    free: Vec<StreamId>,
    len: usize,
}

impl Slots {
    pub(super) fn insert(&mut self, stream: ServerStream, group: u32, from: Position) -> StreamId {
        let id = self.free.pop().unwrap_or_else(|| self.further());
        if let Some(slot) = self.places.get_mut(id.slot as usize) {
            self.len += 1;
            *slot = Some(Box::new(Held {
                stream,
                id,
                group,
                planned: None,
                from,
                is_polled: false,
                resume: None,
            }));
        }
        id
    }

    pub(super) fn remove(&mut self, id: StreamId) -> Option<Box<Held>> {
        self.get(id)?;
        let held = self.places.get_mut(id.slot as usize)?.take()?;
        self.len -= 1;
        // A slot without a further generation is not used again.
        if let Some(generation) = id.generation.checked_add(1) {
            self.free.push(StreamId { generation, ..id });
        }
        Some(held)
    }

    pub(super) fn get(&self, id: StreamId) -> Option<&Held> {
        self.at(id.slot).filter(|held| held.id == id)
    }

    pub(super) fn get_mut(&mut self, id: StreamId) -> Option<&mut Held> {
        self.at_mut(id.slot).filter(|held| held.id == id)
    }

    /// The stream of a slot.
    pub(super) fn at(&self, slot: u32) -> Option<&Held> {
        self.places.get(slot as usize)?.as_deref()
    }

    /// The stream of a slot.
    pub(super) fn at_mut(&mut self, slot: u32) -> Option<&mut Held> {
        self.places.get_mut(slot as usize)?.as_deref_mut()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Held> {
        self.places.iter_mut().filter_map(Option::as_deref_mut)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.places.iter().filter_map(Option::as_deref)
    }

    /// No slot is as large.
    pub(super) fn most(&self) -> usize {
        self.places.len()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The id of a slot that is new.
    fn further(&mut self) -> StreamId {
        let slot = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.push(None);
        StreamId {
            slot,
            generation: 0,
        }
    }
}
