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
    Authorization, Deliverer, DelivererCounts, DelivererOptions, DelivererOutput, Disconnect,
    MessageKind, Post,
};
pub use outcome::{EndpointResponse, Failure, Outcome};
pub use store::{SharedWatermark, WebhookStore};
pub use subscribe::SubscribeRequest;
pub use subscription::WebhookSubscription;
pub use ttl::{RequestedTtl, TtlOptions};
pub use url::{Callback, UrlError, UrlParts, UrlRules};
