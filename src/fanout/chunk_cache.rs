use alloc::vec::Vec;

/// The chunk of each kind. Clearing is cheap: an entry counts only if the chunk that it names
/// belongs to its kind.
#[derive(Debug, Default)]
pub(crate) struct ChunkCache {
    remembered: Vec<usize>,
    owners: Vec<u32>,
}

impl ChunkCache {
    /// Clears all chunks.
    pub(crate) fn forget(&mut self) {
        self.owners.clear();
    }

    /// Returns the chunk of a kind.
    pub(crate) fn get(&self, kind: u32) -> Option<usize> {
        let chunk = *self.remembered.get(kind as usize)?;
        (self.owners.get(chunk) == Some(&kind)).then_some(chunk)
    }

    /// Assigns the next chunk to a kind.
    pub(crate) fn push(&mut self, kind: u32) {
        let place = kind as usize;
        if place >= self.remembered.len() {
            self.remembered.resize(place + 1, 0);
        }
        if let Some(remembered) = self.remembered.get_mut(place) {
            *remembered = self.owners.len();
        }
        self.owners.push(kind);
    }
}
