use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use crate::{clock::Millis, json};

/// The outcome of a POST.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Outcome {
    /// The endpoint responded.
    Response(EndpointResponse),
    /// It did not.
    Failure(Failure),
    /// The host could not send the message, for a reason that is not of the endpoint.
    Unsent,
}

/// A response of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointResponse {
    /// The HTTP status. Redirects are not followed.
    pub status: u16,
    /// The wait that `Retry-After` asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<Millis>,
    /// The body, if the message was a verification: up to 4 KiB. Otherwise empty.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub body: Box<str>,
}

/// The category of a failed message. Clients learn it, and nothing else of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Failure {
    /// No connection could be made, or it broke.
    ConnectionRefused,
    /// The endpoint did not respond in time.
    Timeout,
    /// The endpoint has no valid certificate.
    TlsError,
    /// The endpoint did not return the challenge.
    ChallengeFailed,
    /// The endpoint responded with a status of 300 to 499.
    #[serde(rename = "http_4xx")]
    Http4xx,
    /// The endpoint responded with another status that is no success.
    #[serde(rename = "http_5xx")]
    Http5xx,
}

/// What an [`Outcome`] means for the delivery of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryResult {
    /// The endpoint has accepted the message.
    Delivered,
    /// The endpoint has rejected the message: it is not sent again.
    Rejected(Failure),
    /// The message may be sent again.
    Failed {
        failure: Failure,
        status: u16,
        retry_after: Option<Millis>,
    },
    /// The message did not leave the host, which says nothing about the endpoint.
    Unsent,
}

impl Outcome {
    /// Reads `{"response":{"status":N,"retryAfterMs"?:N,"body"?:TEXT}}`, `{"failure":CATEGORY}` or
    /// `"unsent"`; `None` if it is none of them.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    pub(super) fn delivery_result(&self) -> DeliveryResult {
        match self {
            Self::Response(response) => response.delivery_result(),
            Self::Failure(failure) => DeliveryResult::Failed {
                failure: *failure,
                status: 0,
                retry_after: None,
            },
            Self::Unsent => DeliveryResult::Unsent,
        }
    }

    /// Returns the body of a successful response.
    pub(super) fn body(&self) -> Option<&str> {
        match self {
            Self::Response(response) if (200..300).contains(&response.status) => {
                Some(&response.body)
            }
            _ => None,
        }
    }
}

impl EndpointResponse {
    fn delivery_result(&self) -> DeliveryResult {
        match self.status {
            200..=299 => DeliveryResult::Delivered,
            410 | 413 => DeliveryResult::Rejected(Failure::Http4xx),
            status => DeliveryResult::Failed {
                failure: match status {
                    300..=499 => Failure::Http4xx,
                    _ => Failure::Http5xx,
                },
                status,
                retry_after: self.retry_after_ms,
            },
        }
    }
}

impl Failure {
    /// Returns the category as the protocol names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectionRefused => "connection_refused",
            Self::Timeout => "timeout",
            Self::TlsError => "tls_error",
            Self::ChallengeFailed => "challenge_failed",
            Self::Http4xx => "http_4xx",
            Self::Http5xx => "http_5xx",
        }
    }
}
