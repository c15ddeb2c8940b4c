use alloc::sync::Arc;

use crate::vocabulary::position::{Cursor, Position};

/// A position in the log of one epoch, whose text is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SharedPosition {
    pub(super) epoch: Arc<str>,
    pub(super) position: Position,
}

impl SharedPosition {
    pub(super) fn new(epoch: Arc<str>, position: Position) -> Self {
        Self { epoch, position }
    }

    /// Returns the place as it is written in cursors.
    pub(super) fn cursor(&self) -> Cursor {
        Cursor {
            epoch: (&*self.epoch).into(),
            position: self.position,
        }
    }

    /// Whether this place is at or after `other`, in the same epoch.
    pub(super) fn reaches(&self, other: &Self) -> bool {
        self.is_of(&other.epoch) && self.position >= other.position
    }

    pub(super) fn is_of(&self, epoch: &Arc<str>) -> bool {
        Arc::ptr_eq(&self.epoch, epoch) || self.epoch == *epoch
    }
}
