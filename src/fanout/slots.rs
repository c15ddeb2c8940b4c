use crate::{clock::Millis, listen::ServerStream};

/// One stream of a fan-out, as it is numbered there: numbers are small, and used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId(pub u32);

/// A stream that is held.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) stream: ServerStream,
    /// The number of its stamp.
    pub(super) group: u32,
    /// When its deadlines are looked at next.
    pub(super) planned: Option<Millis>,
}

/// Streams by their numbers; each in a box of its own, since a list that grows holds twice what it needs.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Option<Box<Held>>>,
    free: Vec<StreamId>,
}

impl Slots {
    pub(super) fn insert(&mut self, stream: ServerStream, group: u32) -> StreamId {
        let held = Some(Box::new(Held {
            stream,
            group,
            planned: None,
        }));
        if let Some(id) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(id.0 as usize)
        {
            *slot = held;
            return id;
        }
        let next = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push(held);
        StreamId(next)
    }

    pub(super) fn remove(&mut self, id: StreamId) -> Option<Box<Held>> {
        let held = self.slots.get_mut(id.0 as usize)?.take()?;
        self.free.push(id);
        Some(held)
    }

    pub(super) fn get(&self, id: StreamId) -> Option<&Held> {
        self.slots.get(id.0 as usize)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, id: StreamId) -> Option<&mut Held> {
        self.slots.get_mut(id.0 as usize)?.as_deref_mut()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (StreamId, &mut Held)> {
        let slots = (0..).map(StreamId).zip(&mut self.slots);
        slots.filter_map(|(id, slot)| Some((id, slot.as_deref_mut()?)))
    }

    /// No number is as large.
    pub(super) fn most(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
