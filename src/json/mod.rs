//! JSON text, read once and strictly, and written compactly.
//!
//! The reader keeps the text of every value beside its meaning, because request ids
//! travel exactly as they were written, and notices what lenient readers hide:
//! duplicate keys, lone surrogates, broken UTF-8, depth.

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
pub(crate) use ser::to_text;
pub(crate) use text::Text;
