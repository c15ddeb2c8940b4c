//! HTTP: header fields, and which requests are served, by method, host and origin, with the header
//! fields that browsers need for that (2026-07-28, Streamable HTTP: Security; Fetch: CORS protocol).

mod cors;
mod headers;
mod origin;
mod policy;

pub use headers::Headers;
pub use policy::{Field, Policy, PolicyError, Screening};
