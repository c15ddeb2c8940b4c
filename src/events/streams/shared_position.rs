use alloc::sync::Arc;

use crate::{
    events::page::Page,
    vocabulary::position::{Cursor, Position},
};

/// A position in the log of one epoch, whose text is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SharedPosition {
    pub(super) epoch: Arc<str>,
    pub(super) position: Position,
}

/// Where a position is, as a page of the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Before the page begins, or in another epoch.
    Before,
    /// The page goes on from there.
    Within,
    /// The page has nothing after it.
    After,
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

    /// Returns where it is, as a page has it.
    pub(super) fn reach(&self, page: &Page) -> Reach {
        if *self.epoch != *page.epoch || self.position < page.from {
            Reach::Before
        } else if self.position < page.through {
            Reach::Within
        } else {
            Reach::After
        }
    }

    pub(super) fn is_of(&self, epoch: &Arc<str>) -> bool {
        Arc::ptr_eq(&self.epoch, epoch) || self.epoch == *epoch
    }
}
