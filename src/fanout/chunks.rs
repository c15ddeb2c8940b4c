use alloc::vec::Vec;

/// Which chunk each group gets, forgotten at no cost: a group has one if the chunk that it remembers is its own.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    remembered: Vec<usize>,
    owners: Vec<u32>,
}

impl Chunks {
    /// No group has a chunk any more.
    pub(super) fn forget(&mut self) {
        self.owners.clear();
    }

    /// The chunk of a group.
    pub(super) fn get(&self, group: u32) -> Option<usize> {
        let chunk = *self.remembered.get(group as usize)?;
        (self.owners.get(chunk) == Some(&group)).then_some(chunk)
    }

    /// The next chunk is that of a group.
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
