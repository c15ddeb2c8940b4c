use crate::{
    bus::{Interest, Position},
    clock::Millis,
    event::ServerEvent,
};

/// What a frame of the bus said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing new.
    Nothing,
    /// The bus has confirmed an attach.
    Attached {
        /// Whether everything comes that was missed; otherwise nobody knows what was.
        is_whole: bool,
    },
    /// An event.
    Event {
        /// Its place in the log.
        position: Position,
        /// When it was published, on the clock of the bus.
        at: Option<Millis>,
        /// What changed.
        event: ServerEvent,
    },
    /// From now on these events come.
    Interest {
        /// Which.
        interest: Interest,
        /// Whether the client of its session has yet to say that it is ready.
        is_held: bool,
    },
    /// An [`Adjust`](crate::bus::Adjust) with this number is done.
    Adjusted(u64),
    /// There is no room for what the [`Adjust`](crate::bus::Adjust) with this number adds.
    Refused(u64),
}
