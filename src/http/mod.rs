//! Screening of requests by method, host and origin, CORS for browsers, and responses (2026-07-28,
//! Streamable HTTP: Security; Fetch: CORS protocol).

mod cors;
mod headers;
mod origin;
mod policy;
mod response;

pub use headers::{Field, Headers};
pub use policy::{Policy, PolicyError, Screening};
pub use response::Response;
