//! Clients of 2025-11-25, 2025-06-18 and 2025-03-26: their requests to a server that keeps
//! sessions.

pub mod event_id;
mod initialize;
mod request;

pub(crate) use initialize::agreed;
pub use initialize::{Initialized, initialized, negotiate};
pub(crate) use request::message_of;
pub use request::{LegacyCall, LegacyOutcome, LegacyRequest, classify};

/// The revisions that sessions support, the latest first.
pub const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
