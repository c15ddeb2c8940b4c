//! Streams: their fan-out, and the connection to a bus that they share.

mod fanout;
pub(super) mod grant;
mod isolate;
mod lease;
mod retirement;
pub(super) mod stream;
pub(super) mod tally;
