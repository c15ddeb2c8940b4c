//! Server-sent events, written and read; knows nothing of MCP.

mod body;
mod decode;
mod encode;

pub use body::data;
pub use decode::{Bounds, DecodeError, Decoder, Event, Item};
pub use encode::{AROUND_LINE, KEEP_ALIVE, event, identified, priming};
