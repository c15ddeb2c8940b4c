use alloc::vec::Vec;

use crate::{
    clock::Millis,
    vocabulary::{
        event::ServerEvent, filter::SubscriptionFilter, position::Position, topic::Topic, uri::Uri,
    },
};

/// The content of a frame of the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BusFrame {
    /// Nothing new.
    Nothing,
    /// The bus follows all requested topics.
    Attached {
        /// Whether every missed event follows; otherwise missed events are unknown.
        is_whole: bool,
        /// The end of the log.
        head: Position,
        /// Maximum bytes of the names of all followed topics; `None`: unlimited.
        room: Option<usize>,
        /// The subscriptions of the session whose stream this serves, and whether its client has
        /// not reported yet that it is ready.
        interest: Option<(Vec<Uri>, bool)>,
    },
    /// The bus follows what the follow of this number adds.
    Followed {
        /// The number of the follow.
        seq: u64,
        /// The end of the log.
        head: Position,
        /// Maximum bytes of names, as in `Attached`.
        room: Option<usize>,
    },
    /// The bus has no room for what the follow of this number adds.
    Refused {
        /// The number of the follow.
        seq: u64,
        /// Maximum bytes of names, as in `Attached`.
        room: Option<usize>,
    },
    /// Published events.
    Events {
        /// When the oldest was published, on the clock of the bus.
        at: Option<Millis>,
        /// The events with their positions in the log.
        events: Vec<(Position, ServerEvent)>,
    },
    /// The subscriptions of the session have changed to these; the flag is set while its client has
    /// not reported that it is ready.
    SessionInterest(Vec<Uri>, bool),
}

/// The effect of a frame of the bus.
#[derive(Debug)]
pub(crate) enum Update {
    /// No effect.
    Nothing,
    /// The bus may have confirmed more topics.
    Confirmed {
        /// Whether every missed event follows; otherwise missed events are unknown.
        is_whole: bool,
        /// The new filter of the session's stream.
        filter: Option<SessionFilter>,
    },
    /// The bus has no room for these topics.
    Refused(Vec<Topic>),
    /// The filter of the session's stream has changed.
    SessionInterest(SessionFilter),
    /// Published events.
    Events {
        /// When the oldest was published, on the clock of the bus.
        at: Option<Millis>,
        /// The events with their positions in the log.
        events: Vec<(Position, ServerEvent)>,
    },
}

/// The filter of a session's stream.
#[derive(Debug)]
pub(crate) struct SessionFilter {
    pub(crate) filter: SubscriptionFilter,
    /// Whether the stream has to wait because its client is not ready.
    pub(crate) is_paused: bool,
}
