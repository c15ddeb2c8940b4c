/// Divides the bytes that the names of all holders of an object may count together.
///
/// A part is kept back, so that each holder finds a small room whatever the others hold. The rest is for those that
/// need more, up to a share of the whole for each; what is gone of it, is refused to the next.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    most: usize,
    /// What each holder may hold in any case.
    base: usize,
    /// What all holders may hold together beyond their base.
    common: usize,
    held: usize,
    /// What they hold together beyond their base.
    large: usize,
    /// What is taken of the common part for other things.
    elsewhere: usize,
}

impl Room {
    /// `most` bytes for at most so many holders.
    pub fn new(most: usize, holders: usize) -> Self {
        let base = SMALL.min(most / 2 / holders.max(1));
        Self {
            most,
            base,
            common: most - base * holders,
            held: 0,
            large: 0,
            elsewhere: 0,
        }
    }

    /// Whether a holder of `from` bytes may come to hold `to`.
    pub fn admits(&self, from: usize, to: usize) -> bool {
        to <= from || to <= self.of(from)
    }

    /// The same for a holder that comes back with what it was admitted with before: what is kept back serves for that too.
    pub fn admits_back(&self, from: usize, to: usize) -> bool {
        let others = (self.held - from).saturating_add(self.elsewhere);
        self.admits(from, to) || (to <= self.share() && others.saturating_add(to) <= self.most)
    }

    /// The most bytes that a holder of `held` may come to hold now.
    pub fn of(&self, held: usize) -> usize {
        let free = self.free() + self.beyond(held);
        self.base
            .saturating_add(free)
            .min(self.share())
            .max(self.base)
    }

    /// A holder of `from` bytes holds `to` now, admitted or not.
    pub fn change(&mut self, from: usize, to: usize) {
        self.held = self.held - from + to;
        self.large = self.large - self.beyond(from) + self.beyond(to);
    }

    /// So many bytes are taken by what is no holder.
    pub fn set_elsewhere(&mut self, bytes: usize) {
        self.elsewhere = bytes;
    }

    /// Bytes that all holders hold together.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Bytes that are left of the common part, for what is no holder.
    pub fn spare(&self) -> usize {
        self.common.saturating_sub(self.large)
    }

    fn free(&self) -> usize {
        self.spare().saturating_sub(self.elsewhere)
    }

    fn beyond(&self, bytes: usize) -> usize {
        bytes.saturating_sub(self.base)
    }

    fn share(&self) -> usize {
        self.most / SHARES
    }
}

impl Default for Room {
    /// Without bounds.
    fn default() -> Self {
        Self {
            base: usize::MAX,
            ..Self::new(usize::MAX, 0)
        }
    }
}

/// Bytes that each holder may hold in any case, where half of the whole suffices for that.
const SMALL: usize = 4_096;
/// One holder may hold one part of so many: an attach with all of it is a frame of at most that many bytes.
const SHARES: usize = 32;
