//! The delivery of occurrences to webhooks.

mod address;
mod deliverer;
mod envelope;
mod outcome;
mod progress;
mod schedule;
mod secret;
pub mod signature;
mod store;
mod subscribe;
mod subscription;
mod terms;
mod url;

pub use super::matching::MatchRules;
pub use address::is_public_address;
pub use deliverer::{Counts, Deliverer, MessageKind, Options, Output, Post};
pub use outcome::{Failure, Outcome, Response};
pub use secret::Secret;
pub use store::{Level, Store};
pub use subscribe::Subscribe;
pub use subscription::Subscription;
pub use terms::{RequestedTtl, Terms};
pub use url::{Callback, UrlError, UrlParts, UrlRules};
