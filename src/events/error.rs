//! The errors of events (SEP-3415, Error Handling): their meanings, the two sets of numbers in use,
//! and how they travel inside a server.

use alloc::{borrow::Cow, boxed::Box, string::String};
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::json;

/// Why a request about events is refused, or a subscription has ended. Each meaning has one fixed
/// text; nothing of the request is echoed.
///
/// As JSON, the meaning is the name of the only member: `{"notFound":"event"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum EventError {
    /// The request is wrong in itself: the text says in which way.
    InvalidParams(Cow<'static, str>),
    /// The event type or the subscription does not exist, as far as the caller may know.
    NotFound(Missing),
    /// The caller may not receive these events.
    Forbidden {
        /// The reason that the server gives, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Box<str>>,
    },
    /// A limit of the server is reached.
    ResourceExhausted {
        /// The name of the limit, such as `streams`.
        limit: Cow<'static, str>,
        /// The limit.
        max: u64,
    },
    /// The server does not support something that the request needs.
    Unsupported {
        /// What is not supported.
        feature: Feature,
        /// The requested value, if the protocol defines it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Cow<'static, str>>,
        /// Why it is not supported.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Cow<'static, str>>,
    },
    /// The callback URL did not consent to deliveries: the category of the failure, such as
    /// `timeout`.
    CallbackEndpoint(Cow<'static, str>),
    /// The server cannot respond now: the part that failed, such as `bus`.
    Internal(Cow<'static, str>),
}

/// What does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Missing {
    /// The event type.
    Event,
    /// The subscription of a webhook.
    Subscription,
}

/// What a server may not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Feature {
    /// A way to deliver events.
    DeliveryMode,
    /// The arguments of a subscription that was made for an earlier schema.
    InputSchema,
    /// The payload that a subscription was made for.
    PayloadSchema,
}

/// A set of error numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum CodeSet {
    /// The numbers of SEP-3415.
    Sep,
    /// The numbers of the design sketch, which clients of earlier drafts expect.
    Sketch,
}

/// Which error numbers a server sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Codes {
    /// Those of SEP-3415 to clients that declare the extension, otherwise those of the sketch.
    #[default]
    Declared,
    /// Those of SEP-3415 to every client.
    Sep,
    /// Those of the sketch to every client.
    Sketch,
}

impl Codes {
    /// Returns the numbers for a client that does or does not declare the extension.
    pub fn for_client(self, declares: bool) -> CodeSet {
        match self {
            Self::Declared if !declares => CodeSet::Sketch,
            Self::Sketch => CodeSet::Sketch,
            Self::Declared | Self::Sep => CodeSet::Sep,
        }
    }
}

impl EventError {
    /// The type lacks a delivery mode, or the protocol has no such mode.
    pub(crate) fn no_such_mode(value: Option<&'static str>) -> Self {
        Self::Unsupported {
            feature: Feature::DeliveryMode,
            value: value.map(Into::into),
            reason: None,
        }
    }

    /// The schema of the type changed, so that subscriptions no longer hold.
    pub(crate) fn changed(feature: Feature) -> Self {
        Self::Unsupported {
            feature,
            value: None,
            reason: Some("schema_changed".into()),
        }
    }

    /// Returns the JSON-RPC error code.
    pub fn code(&self, codes: CodeSet) -> i32 {
        let (sep, sketch) = match self {
            Self::InvalidParams(_) => (-32_602, -32_602),
            Self::NotFound(_) => (-32_023, -32_011),
            Self::Forbidden { .. } => (-32_024, -32_012),
            Self::ResourceExhausted { .. } => (-32_025, -32_013),
            Self::Unsupported { .. } => (-32_026, -32_014),
            Self::CallbackEndpoint(_) => (-32_027, -32_015),
            Self::Internal(_) => (-32_603, -32_603),
        };
        match codes {
            CodeSet::Sep => sep,
            CodeSet::Sketch => sketch,
        }
    }

    /// Returns the HTTP status. Statuses other than 200 and 400 hide code and data from callers of
    /// the official TypeScript client 2.4.0.
    pub fn status(&self) -> u16 {
        match self {
            Self::Internal(_) => 503,
            _ => 400,
        }
    }

    /// Returns the message.
    pub fn text(&self) -> &str {
        match self {
            Self::InvalidParams(text) => text,
            Self::NotFound(Missing::Event) => "Event not found",
            Self::NotFound(Missing::Subscription) => "Subscription not found",
            Self::Forbidden { .. } => "Forbidden",
            Self::ResourceExhausted { .. } => "Limit reached",
            Self::Unsupported { .. } => "Not supported",
            Self::CallbackEndpoint(_) => "The callback endpoint did not confirm the subscription",
            Self::Internal(_) => "Events are unavailable",
        }
    }

    /// Returns the class of the refusal, for metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Forbidden { .. } => "forbidden",
            Self::ResourceExhausted { .. } => "full",
            Self::Internal(_) => "unavailable",
            _ => "request",
        }
    }

    /// Returns the JSON-RPC error object.
    pub fn to_object(&self, codes: CodeSet) -> String {
        let mut out = format!("{{\"code\":{},\"message\":", self.code(codes));
        json::push_string(&mut out, self.text());
        if let Some(data) = self.data() {
            out.push_str(",\"data\":");
            out.push_str(&data);
        }
        out.push('}');
        out
    }

    /// Returns the members with the specifics for clients, in either set of numbers.
    fn data(&self) -> Option<String> {
        let data = match self {
            Self::InvalidParams(_) | Self::Forbidden { reason: None } => return None,
            Self::NotFound(kind) => Data::of("kind", kind),
            Self::Forbidden { reason } => Data::of("reason", reason),
            Self::ResourceExhausted { limit, max } => Data::of("limit", limit).and("max", max),
            Self::Unsupported {
                feature,
                value,
                reason,
            } => Data::of("feature", feature)
                .and_some("value", value.as_ref())
                .and_some("reason", reason.as_ref()),
            Self::CallbackEndpoint(reason) | Self::Internal(reason) => Data::of("reason", reason),
        };
        Some(data.0 + "}")
    }

    /// Reads the text of [`EventError::to_json`]; `None` if it is none.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    /// Returns the error as compact JSON, for another part of the server.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }
}

impl fmt::Display for EventError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}

impl core::error::Error for EventError {}

/// The members of an object, without its closing brace.
struct Data(String);

impl Data {
    fn of(name: &str, value: &impl Serialize) -> Self {
        Self(format!("{{\"{name}\":{}", json::to_text(value)))
    }

    fn and(self, name: &str, value: &impl Serialize) -> Self {
        Self(format!("{},\"{name}\":{}", self.0, json::to_text(value)))
    }

    fn and_some(self, name: &str, value: Option<&impl Serialize>) -> Self {
        match value {
            Some(value) => self.and(name, value),
            None => self,
        }
    }
}
