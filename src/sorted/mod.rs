//! Ordered maps and sets whose searching is compiled once for all of them.
//!
//! Each type of key makes another copy of a `BTreeMap`, some kilobytes of WebAssembly. Here the order
//! is kept among numbers; only comparing, and what is kept under a number, depends on the types.

mod map;
mod order;
mod set;

pub(crate) use map::Map;
pub(crate) use set::Set;
