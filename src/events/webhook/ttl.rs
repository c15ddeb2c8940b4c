use serde::{Deserialize, Serialize};

use crate::{
    clock::{MAX_SAFE_MILLIS, Millis},
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TtlOptions {
    /// Milliseconds that a subscription lasts if the client names no time. Default 1 hour.
    pub default_ttl_ms: Millis,
    /// The shortest time in milliseconds, also if a client asks for less. Default 5 minutes.
    pub min_ttl_ms: Millis,
    /// The longest time in milliseconds. Default 24 hours.
    pub max_ttl_ms: Millis,
    /// Whether clients may request subscriptions without an end. Default false: such a client gets
    /// `max_ttl_ms`.
    pub no_expiry: bool,
}

impl RequestedTtl {
    /// Reads `ttlMs`; `None` if it is neither a number nor null.
    pub fn from_node(node: Option<&Node<'_>>) -> Option<Self> {
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
            default_ttl_ms: Millis(3_600_000),
            min_ttl_ms: Millis(300_000),
            max_ttl_ms: Millis(86_400_000),
            no_expiry: false,
        }
    }
}

impl TtlOptions {
    /// Returns until when a subscription lasts that begins now; `None`: until it is ended.
    pub fn until(&self, ttl: RequestedTtl, now: Millis) -> Option<Millis> {
        let span = match ttl {
            RequestedTtl::Endless if self.no_expiry => return None,
            RequestedTtl::Endless => self.max_ttl_ms,
            RequestedTtl::Default => self.default_ttl_ms,
            RequestedTtl::For(span) => span.max(self.min_ttl_ms),
        };
        Some(now + span.min(self.max_ttl_ms))
    }
}
