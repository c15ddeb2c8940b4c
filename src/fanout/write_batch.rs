use alloc::vec::Vec;

use super::StreamId;

/// What to write now: chunks, and which stream gets which. Streams that get the same bytes share a
/// chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteBatch {
    /// The chunks, one after another.
    pub bytes: Vec<u8>,
    /// The end of each chunk in `bytes`.
    pub ends: Vec<usize>,
    /// Each stream with the index of its chunk. Each chunk is first named after those before it,
    /// and streams that get the same ascend, so that a writer goes through memory in one
    /// direction.
    pub writes: Vec<(StreamId, usize)>,
}

impl WriteBatch {
    /// Whether no stream gets anything.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Returns the chunk at an index.
    pub fn chunk(&self, place: usize) -> &[u8] {
        let before = place.checked_sub(1);
        let from = before.and_then(|before| self.ends.get(before)).copied();
        let to = self.ends.get(place).copied().unwrap_or_default();
        self.bytes
            .get(from.unwrap_or_default()..to)
            .unwrap_or_default()
    }

    /// Ends the chunk of the bytes added last. Returns its index.
    pub(crate) fn end_chunk(&mut self) -> usize {
        self.ends.push(self.bytes.len());
        self.ends.len() - 1
    }
}
