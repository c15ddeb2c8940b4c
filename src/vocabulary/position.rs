//! Positions in the log of a bus.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

/// An event's number in the log of a bus: 1 for the first, 0 before any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub u64);

impl Position {
    /// Returns the position of the next event.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns the previous position.
    #[must_use]
    pub fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

/// A position in the log of one bus. Positions compare only within one epoch; a bus starts a new
/// epoch when it starts with an empty disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The epoch of the log.
    pub epoch: Box<str>,
    /// The position in the log.
    pub position: Position,
}
