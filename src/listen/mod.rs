//! `subscriptions/listen` (2026-07-28): from a request to a stream of notifications.

mod accept;
mod client;
mod incoming;
mod params;
mod stream;

pub use accept::{
    Accepted, Classified, ListenOutcome, classify, is_listen_by_header, may_be_listen, validate,
};
pub(crate) use accept::{accept_message, is_listen, stream_of};
pub(crate) use client::concerns;
pub use client::{ClientEndReason, ClientStream, Notice};
pub use incoming::Incoming;
pub(crate) use stream::{Cues, Since};
pub use stream::{EndReason, Next, ServerStream, StreamKind, StreamOutput};
