//! Screening of requests by method, host and origin, and CORS for browsers (2026-07-28, Streamable
//! HTTP: Security; Fetch: CORS protocol).

mod cors;
mod origin;
mod policy;

pub use policy::{Field, Policy, PolicyError, Screening};
