use alloc::string::String;

use crate::vocabulary::event::ServerEvent;

/// What a stream wants written next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// The stream is open; an unstamped stream says so without a message.
    Opened,
    /// One JSON-RPC message.
    Message(String),
    /// A sign of life that carries nothing.
    KeepAlive,
    /// The stream ends here; nothing follows.
    End,
}

/// What a stream says next, before it is a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// It is open.
    Acknowledged,
    /// Something changed: events for one topic that came meanwhile are one, the latest.
    Changed(ServerEvent),
    /// A sign of life that carries nothing.
    KeepAlive,
    /// It ends gracefully, with the result of its request.
    Result,
    /// It ends here; nothing follows. Without a [`Next::Result`] before, its client comes back.
    End,
}
