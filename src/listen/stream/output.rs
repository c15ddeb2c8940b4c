use alloc::string::String;

use crate::vocabulary::{event::ServerEvent, filter::SubscriptionFilter};

use super::stream_kind::StreamKind;

/// An output of a stream, to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamOutput {
    /// The stream is open; the stream of a session has no message for it.
    Opened,
    /// One JSON-RPC message.
    Message(String),
    /// A keep-alive, without content.
    KeepAlive,
    /// The stream ends; nothing follows.
    End,
}

/// An output of a stream, before it is encoded as a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// The stream is open.
    Acknowledged,
    /// Something changed. Events for one topic collapse into the latest.
    Changed(ServerEvent),
    /// A keep-alive, without content.
    KeepAlive,
    /// The stream ends gracefully, with the result of its request.
    Result,
    /// The stream ends; nothing follows. Without a [`Next::Result`] before it, the client comes
    /// back.
    End,
}

impl Next {
    /// Encodes the output for a stream of this kind, with what its messages contain.
    pub(super) fn encode(
        &self,
        kind: &StreamKind,
        honored: &SubscriptionFilter,
        server_info: Option<&str>,
    ) -> StreamOutput {
        let message = match self {
            Self::Acknowledged => kind.acknowledgment(honored),
            Self::Changed(event) => Some(kind.notification(event)),
            Self::Result => kind.result(server_info),
            Self::KeepAlive => return StreamOutput::KeepAlive,
            Self::End => return StreamOutput::End,
        };
        message.map_or(StreamOutput::Opened, StreamOutput::Message)
    }
}
