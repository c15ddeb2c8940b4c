//! Sessions and their store: their lifetimes, their subscriptions, and where their streams are.

mod life;
mod room;
pub(crate) mod rows;
mod streams;
mod world;
