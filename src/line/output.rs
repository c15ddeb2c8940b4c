use crate::bus::{Delivery, EdgeId};

/// What a line wants done for its streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineOutput {
    /// A frame to give to streams, in words of the bus protocol.
    Send(Delivery),
    /// A stream is held no more: its bus is lost, or has lost something. It may come back.
    Lose(EdgeId),
}

/// What is to be done about the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineCall {
    /// Give up the connection that there is.
    Leave,
    /// Make a new connection, and send this on it first.
    Attach(String),
    /// Send this on the connection that there is.
    Send(String),
}
