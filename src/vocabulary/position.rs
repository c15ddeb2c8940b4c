//! Places in the log of a bus.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

/// An event's number in the bus log: 1 for the first, 0 before any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub u64);

impl Position {
    /// The position of the next event.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The position before this one.
    #[must_use]
    pub fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

/// A place in the log of one bus: positions compare only within one epoch, which
/// a bus begins when it starts with an empty disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which log.
    pub epoch: Box<str>,
    /// Which event of it.
    pub position: Position,
}
