//! Screening of requests by method, host and origin, and CORS for browsers (2026-07-28, Streamable
//! HTTP: Security; Fetch: CORS protocol).

mod cors;
mod headers;
mod origin;
mod policy;

pub use headers::{Field, Headers};
pub use policy::{Policy, PolicyError, Screening};
