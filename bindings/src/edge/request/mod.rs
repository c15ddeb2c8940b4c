//! Requests: their checks, responses and refusals.

pub(crate) mod discovered;
mod exchange;
mod probe;
pub(crate) mod refusal;
mod service;
mod shared;
