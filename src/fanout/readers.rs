use alloc::vec::Vec;
use core::num::NonZeroU32;

/// The readers of streams in this process, by slot.
#[derive(Debug, Default)]
pub(super) struct Readers(Vec<Option<NonZeroU32>>);

impl Readers {
    /// Returns the reader of the stream in a slot.
    pub(super) fn at(&self, slot: u32) -> Option<NonZeroU32> {
        self.0.get(slot as usize).copied().flatten()
    }

    /// Sets the reader of the stream in a slot; `None`: its client reads it.
    pub(super) fn set(&mut self, slot: u32, reader: Option<NonZeroU32>) {
        let place = slot as usize;
        if reader.is_some() && place >= self.0.len() {
            self.0.resize(place + 1, None);
        }
        if let Some(held) = self.0.get_mut(place) {
            *held = reader;
        }
    }
}
