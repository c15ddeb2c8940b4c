use alloc::vec::Vec;

use crate::{
    clock::Millis,
    vocabulary::{
        event::ServerEvent, filter::SubscriptionFilter, position::Position, topic::Topic,
    },
};

/// What a frame of the bus comes to.
#[derive(Debug)]
pub(crate) enum News {
    /// Nothing.
    Nothing,
    /// More of what is wanted may be followed by now.
    Confirmed {
        /// Whether everything comes that was missed; otherwise nobody knows what was.
        is_whole: bool,
        /// What the stream of the session gets from now on.
        watched: Option<Watching>,
    },
    /// The bus has no room for these.
    Refused(Vec<Topic>),
    /// The stream of the session gets something else from now on.
    Watched(Watching),
    /// Events.
    Events {
        /// When the oldest was published, on the clock of the bus.
        at: Option<Millis>,
        /// The events, each with its place in the log.
        events: Vec<(Position, ServerEvent)>,
    },
}

/// What the stream of a session gets.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(crate) filter: SubscriptionFilter,
    /// Nothing yet: its client is not ready.
    pub(crate) is_held: bool,
}
