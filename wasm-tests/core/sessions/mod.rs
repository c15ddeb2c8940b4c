//! Sessions and their store: their lifetimes, their subscriptions, and where their streams are.

mod life;
mod room;
mod rows;
mod streams;
mod world;
