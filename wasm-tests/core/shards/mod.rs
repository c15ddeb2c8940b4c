//! A root and its shards, back to back.

mod again;
mod change;
mod cost;
mod disk;
mod faults;
mod few;
mod isolate;
mod listener;
mod mail;
mod placement;
mod protocol;
mod reply;
mod root;
mod sessions;
mod shard;
mod strays;
mod whole;
pub(crate) mod world;
