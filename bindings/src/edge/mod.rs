//! Streams over HTTP, on a connection to a bus.

pub(crate) mod accept;
pub(crate) mod discovered;
mod fanout;
mod front;
mod grant;
mod isolate;
mod legacy;
mod probe;
mod retirement;
mod stream;
mod tally;
