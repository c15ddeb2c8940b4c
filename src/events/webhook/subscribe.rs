use alloc::{boxed::Box, string::String, vec::Vec};
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    clock::Millis,
    events::{cursor, error::CodeSet, name::EventName, timestamp::iso},
    json::{self, Raw},
    vocabulary::{position::Cursor, scope::Name},
};

use super::{outcome::Failure, ttl::RequestedTtl};

/// A request to deliver occurrences to a webhook, with what the host has found out about it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeRequest {
    /// The [id](crate::events::subscription_id) of the subscription.
    pub id: Box<str>,
    /// The name of the subscriber.
    pub principal: Box<str>,
    /// The groups of the subscriber.
    #[serde(default)]
    pub groups: Vec<Name>,
    /// The type of the events.
    pub name: EventName,
    /// The arguments as [canonical](crate::events::canonical_arguments) JSON.
    pub arguments: Box<str>,
    /// Where messages are sent to.
    pub url: Box<str>,
    /// The [host](super::Callback::host) of `url`.
    pub host: Box<str>,
    /// Whether the endpoint has consented out of band, see [`Callback`](super::Callback).
    #[serde(default)]
    pub is_allowed: bool,
    /// The secret as the host keeps it, which may be encrypted.
    pub secret: Box<str>,
    /// A text that is equal for equal secrets and does not reveal them.
    pub secret_digest: Box<str>,
    /// The error numbers that the subscriber expects.
    pub codes: CodeSet,
    /// The cursor after which it begins; `None`: at the end of the log.
    #[serde(default)]
    pub cursor: Option<Box<str>>,
    /// Leaves out occurrences that were published longer ago than this.
    #[serde(default)]
    pub max_age_ms: Option<Millis>,
    /// The requested lifetime.
    #[serde(default)]
    pub ttl: RequestedTtl,
    /// The text of 32 random bytes with which the endpoint is asked for consent.
    pub challenge: Box<str>,
    /// The subscriptions of the whole bus, with all that the deliverer has now; 0 for an id that it
    /// has stored.
    #[serde(default)]
    pub total: usize,
    /// When the server received the request, before it authorized the subscriber; 0 if unknown.
    #[serde(default)]
    pub asked_at: Millis,
}

/// The result of `events/subscribe`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SubscribeResult<'g> {
    pub(super) id: &'g str,
    pub(super) until: Option<Millis>,
    pub(super) watermark: Cursor,
    pub(super) is_truncated: bool,
    pub(super) status: Option<DeliveryStatus>,
}

/// The status of the delivery, for its subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeliveryStatus {
    pub(super) is_throttled: bool,
    pub(super) failing_since: Option<Millis>,
    pub(super) last_failure: Option<Failure>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Members<'g> {
    id: &'g str,
    refresh_before: Option<String>,
    cursor: String,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_status: Option<Raw<String>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    active: bool,
    throttled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_since: Option<String>,
    last_error: Option<&'static str>,
}

impl SubscribeRequest {
    /// Reads the text form; `None` if it is invalid.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }
}

impl SubscribeResult<'_> {
    /// Returns the members of the result as a JSON object.
    pub(super) fn to_json(&self) -> String {
        json::to_text(&Members {
            id: self.id,
            refresh_before: self.until.map(iso),
            cursor: cursor::to_text(&self.watermark),
            truncated: self.is_truncated,
            delivery_status: self.status.as_ref().map(|status| Raw(status.to_json())),
        })
    }
}

impl DeliveryStatus {
    fn to_json(&self) -> String {
        json::to_text(&Status {
            active: true,
            throttled: self.is_throttled,
            failed_since: self.failing_since.map(iso),
            last_error: self.last_failure.map(Failure::name),
        })
    }
}

/// Shows nothing that identifies the subscriber or opens the endpoint.
impl fmt::Debug for SubscribeRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut subscribe = formatter.debug_struct("SubscribeRequest");
        subscribe.field("name", &self.name).finish_non_exhaustive()
    }
}
