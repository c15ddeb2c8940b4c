use alloc::vec::Vec;

use crate::sorted::Map;

/// Interns names as small numbers while they are in use; freed numbers are reused.
#[derive(Debug)]
pub(crate) struct Interner<N> {
    entries: Map<N, Entry>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry {
    number: u32,
    uses: u32,
}

impl<N> Default for Interner<N> {
    fn default() -> Self {
        Self {
            entries: Map::default(),
            free: Vec::new(),
        }
    }
}

impl<N: Clone + Ord> Interner<N> {
    /// Returns the stored copy of the name, which all users can share.
    pub(crate) fn interned<'a>(&'a self, name: &'a N) -> &'a N {
        self.entries.key(name).unwrap_or(name)
    }

    /// Adds a use of a name. Returns its number.
    pub(crate) fn intern(&mut self, name: &N) -> u32 {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.uses += 1;
            return entry.number;
        }
        // With no free number, all numbers below the count of names are in use.
        let count = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let number = self.free.pop().unwrap_or(count);
        self.entries.insert(name.clone(), Entry { number, uses: 1 });
        number
    }

    /// Removes a use of a name. Returns its number.
    pub(crate) fn release(&mut self, name: &N) -> Option<u32> {
        let entry = self.entries.get_mut(name)?;
        let number = entry.number;
        entry.uses -= 1;
        if entry.uses == 0 {
            self.entries.remove(name);
            self.free.push(number);
        }
        Some(number)
    }
}
