//! Requests and streams over HTTP, on a connection to a bus.

mod answer;
pub(crate) mod discovered;
mod exchange;
mod fanout;
mod isolate;
mod lease;
pub(crate) mod options;
mod probe;
mod reauthorization;
pub(crate) mod refusal;
mod retirement;
mod service;
mod stream;
mod tally;
