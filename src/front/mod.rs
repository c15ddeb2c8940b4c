//! The front door: which requests are looked at at all, by method, host and origin, and what
//! browsers are told about it (2026-07-28, Streamable HTTP: Security; Fetch: CORS protocol).

mod cors;
mod origin;
mod policy;

pub use policy::{Field, Policy, PolicyError, Screening};
