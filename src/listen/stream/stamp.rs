use alloc::string::String;

use crate::{
    message,
    vocabulary::{event::ServerEvent, filter::SubscriptionFilter, id::RequestId},
};

/// What the messages of a stream carry beside their own content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stamp {
    /// The id of the listen request that opened the stream; it is acknowledged first, and its
    /// result ends the stream (2026-07-28, Subscriptions).
    Subscription(RequestId),
    /// Nothing: the stream of a session, which is neither acknowledged nor answered
    /// (2025-11-25, Transports: Listening for Messages from the Server).
    None,
}

impl Stamp {
    /// The message that comes first; a stream without a stamp has none.
    pub(crate) fn acknowledgment(&self, honored: &SubscriptionFilter) -> Option<String> {
        self.id().map(|id| message::acknowledged(id, honored))
    }

    /// The notification of `event`.
    pub(crate) fn notification(&self, event: &ServerEvent) -> String {
        match self {
            Self::Subscription(id) => message::notification(id, event),
            Self::None => message::plain_notification(event),
        }
    }

    /// The message that ends a stream gracefully; a stream without a stamp has none.
    pub(crate) fn result(&self, server_info: Option<&str>) -> Option<String> {
        self.id().map(|id| message::listen_result(id, server_info))
    }

    /// Whether a request waits for the result of the stream.
    pub(crate) fn is_subscription(&self) -> bool {
        self.id().is_some()
    }

    fn id(&self) -> Option<&RequestId> {
        match self {
            Self::Subscription(id) => Some(id),
            Self::None => None,
        }
    }
}
