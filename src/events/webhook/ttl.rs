use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    clock::{MAX_SAFE_MILLIS, Millis, read_span},
    json::{Node, Value},
};

/// How long a client asks for its subscription to last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum RequestedTtl {
    /// As long as the server gives by default.
    #[default]
    Default,
    /// Until it unsubscribes.
    Endless,
    /// For this many milliseconds.
    For(Millis),
}

/// How long subscriptions last.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TtlOptions {
    /// How long a subscription lasts if the client names no time. Default 1 hour.
    #[serde(rename = "defaultTtlMs", deserialize_with = "read_span")]
    pub default_ttl: Duration,
    /// The shortest time, also if a client asks for less. Default 5 minutes.
    #[serde(rename = "minTtlMs", deserialize_with = "read_span")]
    pub min_ttl: Duration,
    /// The longest time. Default 24 hours.
    #[serde(rename = "maxTtlMs", deserialize_with = "read_span")]
    pub max_ttl: Duration,
    /// Whether clients may request subscriptions without an end. Default false: such a client gets
    /// `max_ttl`.
    pub no_expiry: bool,
}

impl RequestedTtl {
    /// Reads `ttlMs`; `None` if it is neither a number nor null.
    pub(crate) fn from_node(node: Option<&Node<'_>>) -> Option<Self> {
        let Some(node) = node else {
            return Some(Self::Default);
        };
        match node.value {
            Value::Null => Some(Self::Endless),
            Value::Number => Some(Self::of(node.raw.parse().ok()?)),
            _ => None,
        }
    }

    /// The request for a number of milliseconds, of any size and sign.
    pub fn of(millis: f64) -> Self {
        Self::For(Millis::from_f64(millis.min(MAX_SAFE_MILLIS)))
    }
}

impl Default for TtlOptions {
    fn default() -> Self {
        Self {
            default_ttl: Duration::from_hours(1),
            min_ttl: Duration::from_mins(5),
            max_ttl: Duration::from_hours(24),
            no_expiry: false,
        }
    }
}

impl TtlOptions {
    /// Returns until when a subscription lasts that begins now; `None`: until it is ended.
    pub fn until(&self, ttl: RequestedTtl, now: Millis) -> Option<Millis> {
        let span = match ttl {
            RequestedTtl::Endless if self.no_expiry => return None,
            RequestedTtl::Endless => self.max_ttl,
            RequestedTtl::Default => self.default_ttl,
            RequestedTtl::For(span) => self.min_ttl.max(span.into()),
        };
        Some(now + span.min(self.max_ttl).into())
    }
}
