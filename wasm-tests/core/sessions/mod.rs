//! Sessions and their store: their lifetimes, their subscriptions, and where their streams are.

mod life;
mod limits;
pub(crate) mod rows;
mod streams;
mod world;
