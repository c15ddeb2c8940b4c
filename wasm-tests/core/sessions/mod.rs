//! Sessions beside their store: how long they live, what they watch, and where their stream is.

mod life;
mod room;
mod rows;
mod streams;
mod world;
