use alloc::string::String;

use crate::{
    message,
    vocabulary::{event::ServerEvent, filter::SubscriptionFilter, id::RequestId},
};

/// The kind of a stream: how its messages are tied to a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StreamKind {
    /// The id of the listen request that opened the stream. The stream starts with an
    /// acknowledgment and ends with a result (2026-07-28, Subscriptions).
    Listen(RequestId),
    /// The stream of a session, without an acknowledgment and a result (2025-11-25, Transports:
    /// Listening for Messages from the Server).
    Session,
}

impl StreamKind {
    /// Returns the acknowledgment; `None` for a session.
    pub(crate) fn acknowledgment(&self, honored: &SubscriptionFilter) -> Option<String> {
        self.id().map(|id| message::acknowledged(id, honored))
    }

    /// Returns the notification of `event`.
    pub(crate) fn notification(&self, event: &ServerEvent) -> String {
        match self {
            Self::Listen(id) => message::notification(id, event),
            Self::Session => message::plain_notification(event),
        }
    }

    /// Returns the message that ends a stream gracefully; `None` for a session.
    pub(crate) fn result(&self, server_info: Option<&str>) -> Option<String> {
        self.id().map(|id| message::listen_result(id, server_info))
    }

    /// Whether the result of the stream is the response to a request.
    pub(crate) fn is_listen(&self) -> bool {
        self.id().is_some()
    }

    fn id(&self) -> Option<&RequestId> {
        match self {
            Self::Listen(id) => Some(id),
            Self::Session => None,
        }
    }
}
