use crate::clock::Millis;

/// When a subscriber was disconnected, by two clocks that need not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disconnect {
    /// By the clock of the bus: compared with when servers received requests.
    pub published_at: Millis,
    /// By the clock of the deliverer: its present time, less how long ago it was by the clock of
    /// the bus.
    pub at: Millis,
}

impl Disconnect {
    /// Whether it takes away what a subscriber has by a request: when the server received that, and
    /// when the deliverer did. Where the clocks disagree, it does: what was there before the
    /// disconnect must never outlive it.
    pub(super) fn covers(self, asked_at: Millis, received_at: Millis) -> bool {
        asked_at <= self.published_at || received_at <= self.at
    }
}
