/// Divides the maximum bytes of the names of all holders of an object.
///
/// A part is reserved, so that each holder has a small room regardless of the others. The rest is
/// for holders that need more, up to a share of the whole for each; once it is used up, further
/// requests are refused.
#[derive(Clone, Copy, Debug)]
pub struct NameBudget {
    max_bytes: usize,
    /// The bytes that each holder may always hold.
    base: usize,
    /// The bytes that all holders together may hold beyond their base.
    common: usize,
    used: usize,
    /// The bytes that they hold together beyond their base.
    large: usize,
    /// The bytes of the common part that are used for other purposes.
    elsewhere: usize,
}

impl NameBudget {
    /// Creates a room of `max_bytes` bytes for at most `holders` holders.
    pub fn new(max_bytes: usize, holders: usize) -> Self {
        let base = SMALL.min(max_bytes / 2 / holders.max(1));
        Self {
            max_bytes,
            base,
            common: max_bytes - base * holders,
            used: 0,
            large: 0,
            elsewhere: 0,
        }
    }

    /// Whether a holder of `from` bytes may grow to `to` bytes.
    pub fn admits(&self, from: usize, to: usize) -> bool {
        to <= from || to <= self.of(from)
    }

    /// Whether a holder that reconnects may hold what it was admitted with before: this may also
    /// use the reserved part.
    pub fn admits_back(&self, from: usize, to: usize) -> bool {
        let others = (self.used - from).saturating_add(self.elsewhere);
        self.admits(from, to) || (to <= self.share() && others.saturating_add(to) <= self.max_bytes)
    }

    /// Returns the maximum bytes to which a holder of `used` bytes may grow now.
    pub fn of(&self, used: usize) -> usize {
        let free = self.free() + self.beyond(used);
        self.base
            .saturating_add(free)
            .min(self.share())
            .max(self.base)
    }

    /// Records that a holder of `from` bytes now holds `to` bytes, admitted or not.
    pub fn change(&mut self, from: usize, to: usize) {
        self.used = self.used - from + to;
        self.large = self.large - self.beyond(from) + self.beyond(to);
    }

    /// Sets the bytes that are used for other purposes than holders.
    pub fn set_elsewhere(&mut self, bytes: usize) {
        self.elsewhere = bytes;
    }

    /// Returns the bytes that all holders hold together.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Returns the bytes of the common part that holders leave for other purposes.
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
        self.max_bytes / SHARES
    }
}

impl Default for NameBudget {
    /// An unlimited room.
    fn default() -> Self {
        Self {
            base: usize::MAX,
            ..Self::new(usize::MAX, 0)
        }
    }
}

/// Bytes that each holder may always hold, if half of the whole suffices for that.
const SMALL: usize = 4_096;
/// Each holder may hold at most one in this many of the bytes, which also limits the frame of an
/// attach.
const SHARES: usize = 32;
