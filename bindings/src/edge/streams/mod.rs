//! Streams: their fan-out, and the connection to a bus that they share.

mod fanout;
mod isolate;
mod lease;
pub(super) mod reauthorization;
mod retirement;
pub(super) mod stream;
