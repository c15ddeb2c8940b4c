//! Requests and streams over HTTP, on a connection to a bus.

pub(crate) mod options;
pub(crate) mod request;
mod streams;
