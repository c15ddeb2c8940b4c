//! Requests: their checks, answers and refusals.

mod answer;
pub(crate) mod discovered;
mod exchange;
mod probe;
pub(crate) mod refusal;
mod service;
