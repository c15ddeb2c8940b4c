use alloc::vec::Vec;

use super::StreamId;

/// What is to be written now: chunks, and which stream gets which. Streams that get the same share a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fan {
    /// The chunks, one after another.
    pub bytes: Vec<u8>,
    /// Where each chunk ends in `bytes`.
    pub ends: Vec<usize>,
    /// Who gets which chunk, by its place. Streams ascend: whoever writes to them goes through memory in one direction.
    pub writes: Vec<(StreamId, usize)>,
}

impl Fan {
    /// Whether nobody gets anything.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// The chunk at a place.
    pub fn chunk(&self, place: usize) -> &[u8] {
        let before = place.checked_sub(1);
        let from = before.and_then(|before| self.ends.get(before)).copied();
        let to = self.ends.get(place).copied().unwrap_or_default();
        self.bytes
            .get(from.unwrap_or_default()..to)
            .unwrap_or_default()
    }

    /// The chunk is whole whose bytes were added last; its place.
    pub(super) fn end_chunk(&mut self) -> usize {
        self.ends.push(self.bytes.len());
        self.ends.len() - 1
    }
}
