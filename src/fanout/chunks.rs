use alloc::vec::Vec;

/// The chunk of each group. Clearing is cheap: an entry counts only if the chunk that it names
/// belongs to its group.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    remembered: Vec<usize>,
    owners: Vec<u32>,
}

impl Chunks {
    /// Clears all chunks.
    pub(super) fn forget(&mut self) {
        self.owners.clear();
    }

    /// Returns the chunk of a group.
    pub(super) fn get(&self, group: u32) -> Option<usize> {
        let chunk = *self.remembered.get(group as usize)?;
        (self.owners.get(chunk) == Some(&group)).then_some(chunk)
    }

    /// Assigns the next chunk to a group.
    pub(super) fn push(&mut self, group: u32) {
        let place = group as usize;
        if place >= self.remembered.len() {
            self.remembered.resize(place + 1, 0);
        }
        if let Some(remembered) = self.remembered.get_mut(place) {
            *remembered = self.owners.len();
        }
        self.owners.push(group);
    }
}
