use alloc::{boxed::Box, vec::Vec};

use crate::fanout::StreamId;

use super::stream::Stream;

/// Streams by their slots.
#[derive(Debug, Default)]
pub(super) struct Slots {
    places: Vec<Option<Box<Stream>>>,
    /// The ids to assign next.
    free: Vec<StreamId>,
    len: usize,
}

impl Slots {
    /// Adds the stream that `make` creates for its id.
    pub(super) fn insert(&mut self, make: impl FnOnce(StreamId) -> Stream) -> StreamId {
        let id = self.free.pop().unwrap_or_else(|| self.further());
        if let Some(place) = self.places.get_mut(id.slot() as usize) {
            self.len += 1;
            *place = Some(Box::new(make(id)));
        }
        id
    }

    pub(super) fn remove(&mut self, id: StreamId) -> Option<Box<Stream>> {
        self.get(id)?;
        let stream = self.places.get_mut(id.slot() as usize)?.take()?;
        self.len -= 1;
        // A slot whose generations are used up is not reused.
        if let Some(generation) = id.generation().checked_add(1) {
            self.free.push(StreamId::new(id.slot(), generation));
        }
        Some(stream)
    }

    pub(super) fn get(&self, id: StreamId) -> Option<&Stream> {
        self.at(id.slot()).filter(|stream| stream.id == id)
    }

    pub(super) fn get_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.at_mut(id.slot()).filter(|stream| stream.id == id)
    }

    /// Returns the stream in a slot.
    pub(super) fn at(&self, slot: u32) -> Option<&Stream> {
        self.places.get(slot as usize)?.as_deref()
    }

    /// Returns the stream in a slot.
    pub(super) fn at_mut(&mut self, slot: u32) -> Option<&mut Stream> {
        self.places.get_mut(slot as usize)?.as_deref_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn further(&mut self) -> StreamId {
        let slot = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.push(None);
        StreamId::new(slot, 0)
    }
}
