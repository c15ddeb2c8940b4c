use alloc::vec::Vec;

/// What a stream gets of a page, apart from its id: which selection, from which occurrence on, and
/// whether it learns first that it lost something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) selection: usize,
    pub(super) first: usize,
    pub(super) is_gap: bool,
}

/// The chunks of one batch, by the number of an id and the share. Mostly an id has one, so those of
/// an id are a list.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// By the number of the id: the entry to begin with, plus one.
    heads: Vec<usize>,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    share: Share,
    chunk: usize,
    next: usize,
}

impl Shares {
    /// Returns the chunk of an id and a share.
    pub(super) fn get(&self, stamp: u32, share: Share) -> Option<usize> {
        let mut at = self.heads.get(stamp as usize).copied().unwrap_or(0);
        while let Some(entry) = at.checked_sub(1).and_then(|at| self.entries.get(at)) {
            if entry.share == share {
                return Some(entry.chunk);
            }
            at = entry.next;
        }
        None
    }

    /// Remembers the chunk of an id and a share.
    pub(super) fn insert(&mut self, stamp: u32, share: Share, chunk: usize) {
        let place = stamp as usize;
        if place >= self.heads.len() {
            self.heads.resize(place + 1, 0);
        }
        if let Some(head) = self.heads.get_mut(place) {
            self.entries.push(Entry {
                share,
                chunk,
                next: *head,
            });
            *head = self.entries.len();
        }
    }
}
