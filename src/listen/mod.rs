//! `subscriptions/listen` (2026-07-28): from a request to a stream of notifications.

mod accept;
mod cues;
mod headers;
mod request;
mod stream;

pub use accept::{Accepted, Verdict, accept, may_be_listen};
pub use headers::Headers;
pub use stream::{Output, ServerStream, Stamp};
