//! Ordered maps and sets whose search code is compiled once for all of them.
//!
//! A `BTreeMap` is compiled again for each type of key, some kilobytes of WebAssembly each. Here
//! the order is kept among numbers, and only comparison and storage depend on the types.

mod map;
mod order;
mod set;

pub(crate) use map::Map;
pub(crate) use set::Set;
