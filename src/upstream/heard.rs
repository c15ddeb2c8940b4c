use alloc::vec::Vec;

use crate::{
    clock::Millis,
    vocabulary::{event::ServerEvent, position::Position, uri::Uri},
};

/// What a frame of the bus said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing new.
    Nothing,
    /// The bus follows all that it was asked for.
    Attached {
        /// Whether everything comes that was missed; otherwise nobody knows what was.
        is_whole: bool,
        /// Where the log ends.
        head: Position,
        /// Bytes that the names of all that is followed may count; `None`: there are no bounds.
        room: Option<usize>,
        /// What the session watches whose stream this is for, and whether its client has yet to say that it is ready.
        watched: Option<(Vec<Uri>, bool)>,
    },
    /// The bus follows what the follow of this number adds.
    Followed {
        /// The number.
        seq: u64,
        /// Where the log ends.
        head: Position,
        /// As above.
        room: Option<usize>,
    },
    /// There is no room for what the follow of this number adds.
    Refused {
        /// The number.
        seq: u64,
        /// As above.
        room: Option<usize>,
    },
    /// Events.
    Events {
        /// When the oldest was published, on the clock of the bus.
        at: Option<Millis>,
        /// The events, each with its place in the log.
        events: Vec<(Position, ServerEvent)>,
    },
    /// The session watches these resources from now on; its client has yet to say that it is ready, or not.
    Watched(Vec<Uri>, bool),
}
