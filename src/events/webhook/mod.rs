//! The delivery of occurrences to webhooks.

mod address;
mod deliverer;
mod envelope;
mod outcome;
mod progress;
mod schedule;
mod store;
mod subscribe;
mod subscription;
mod ttl;
mod url;

pub use super::matching::MatchRules;
pub use address::is_public_address;
pub use deliverer::{
    Authorization, Counts, Deliverer, Disconnect, MessageKind, Options, Output, Post,
};
pub use outcome::{Failure, Outcome, Response};
pub use store::{SharedWatermark, Store};
pub use subscribe::Subscribe;
pub use subscription::Subscription;
pub use ttl::{RequestedTtl, TtlOptions};
pub use url::{Callback, UrlError, UrlParts, UrlRules};
