//! The frames with which a shard answers.

pub(super) use crate::follow::{attached as answered, confirmed};

/// An edge that heard nothing before is told where the log ends.
pub(super) fn attached(position: u64) -> String {
    answered(1, position, position)
}

/// An edge goes on from where it was.
pub(super) fn went_on(at: u64, head: u64) -> String {
    answered(1, at, head)
}
