use crate::{
    bus::Position, clock::Millis, event::ServerEvent, filter::SubscriptionFilter, topic::Topic,
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
    },
    /// The bus has no room for these.
    Refused(Vec<Topic>),
    /// From now on the stream of the session gets this, and nothing as long as it `is_held`: its client is not ready.
    Watched {
        filter: SubscriptionFilter,
        is_held: bool,
    },
    /// An event.
    Event {
        position: Position,
        /// When it was published, on the clock of the bus.
        at: Option<Millis>,
        event: ServerEvent,
    },
}
