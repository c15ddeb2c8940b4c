use crate::vocabulary::{position::Position, topic::Topics};

/// The number of an edge at its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(pub u32);

/// The state of an edge that has attached.
#[derive(Debug)]
pub(in crate::bus) struct Attached {
    pub(super) topics: Topics,
    /// The position of the last frame that it was sent; `None` if unknown.
    pub(super) last: Option<Position>,
    /// The number of its last follow.
    pub(super) seq: u64,
    /// Its fresh follow has no reply yet, so it receives no events.
    pub(super) is_waiting: bool,
}
