//! Server-sent events: encoding and decoding, independent of MCP.

mod body;
mod decode;
mod encode;

pub use body::data;
pub(crate) use body::messages;
pub use decode::{Bounds, DecodeError, Decoder, Event, Item};
pub(crate) use encode::push_around;
pub use encode::{KEEP_ALIVE, event, identified, priming};
