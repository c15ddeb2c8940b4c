//! The frames with which a shard replies.

pub(super) use crate::follow::{attached as replied, confirmed};

/// An edge without a past learns the end of the log.
pub(super) fn attached(position: u64) -> String {
    replied(1, position, position)
}

/// An edge continues from its cursor.
pub(super) fn went_on(at: u64, head: u64) -> String {
    replied(1, at, head)
}
