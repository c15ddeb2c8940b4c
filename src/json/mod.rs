//! Reads JSON text once and strictly, and writes it compactly.
//!
//! The reader keeps the text of every value with its meaning, because request ids are sent back
//! exactly as they were written. It detects what lenient readers hide: duplicate keys, lone
//! surrogates, invalid UTF-8 and excessive depth.
//!
//! This module is public because the crates that drive the core for JavaScript and components read
//! the options of their users with it. Users of the core only need the `from_json` of each type.

mod de;
mod node;
mod raw;
mod reader;
mod ser;
mod text;
mod writer;

pub use node::{Document, Node, Object, Value};
pub use reader::{ReadError, read};
pub use writer::{push_string, to_compact};

pub(crate) use de::from_node;
pub use de::{Unreadable, from_text};
pub(crate) use raw::Raw;
pub(crate) use reader::MAX_PEER_DEPTH;
pub(crate) use ser::to_text;
pub(crate) use text::Text;
