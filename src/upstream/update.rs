use alloc::vec::Vec;

use crate::{
    clock::Millis,
    vocabulary::{
        event::ServerEvent, filter::SubscriptionFilter, position::Position, topic::Topic,
    },
};

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
        watched: Option<SessionFilter>,
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
