use alloc::string::String;
use core::fmt;

use crate::sse::DecodeError;

/// How a subscription ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The server closed it, and nothing was lost.
    Graceful,
    /// It broke off, or the server sent something invalid: changes may have been missed.
    Lost(Loss),
    /// The server refused the request.
    Refused(Refusal),
}

/// Why a subscription broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// The connection ended without a result, or was never established.
    Disconnected,
    /// The server cancelled the subscription.
    Cancelled,
    /// The response does not belong to a listen request.
    InvalidResponse,
    /// The response is not a stream, and is larger than allowed.
    ResponseTooLarge,
    /// The acknowledgment names no honored filter.
    MalformedAcknowledgment,
    /// The acknowledgment did not come in time.
    NotAcknowledged,
    /// The server sent nothing on the open stream for too long.
    Silence,
    /// The server redirects the client, whose credentials are not meant for another place.
    Redirected,
    /// The event stream is malformed.
    Stream(DecodeError),
}

/// How a server refused a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The JSON-RPC error code, if the response has one.
    pub code: Option<i32>,
    /// The server's message, empty if it sent none; not to be trusted.
    pub text: String,
}

impl CloseReason {
    pub(super) fn refused(status: u16, code: Option<i32>, text: String) -> Self {
        Self::Refused(Refusal { status, code, text })
    }

    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Graceful => "graceful",
            Self::Lost(loss) => loss.code(),
            Self::Refused(_) => "refused",
        }
    }
}

impl Loss {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Disconnected => "disconnected",
            Self::Cancelled => "cancelled",
            Self::InvalidResponse => "invalid-response",
            Self::ResponseTooLarge => "response-too-large",
            Self::MalformedAcknowledgment => "malformed-acknowledgment",
            Self::NotAcknowledged => "not-acknowledged",
            Self::Silence => "silence",
            Self::Redirected => "redirected",
            Self::Stream(error) => error.code(),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Disconnected => "the connection was lost",
            Self::Cancelled => "the server cancelled the subscription",
            Self::InvalidResponse => "the response does not belong to a listen request",
            Self::ResponseTooLarge => "the response is larger than allowed",
            Self::MalformedAcknowledgment => "the acknowledgment names no filter",
            Self::NotAcknowledged => "the subscription was not acknowledged in time",
            Self::Silence => "the stream was silent for too long",
            Self::Redirected => "the server redirects, and credentials are not sent elsewhere",
            Self::Stream(error) => return error.fmt(formatter),
        })
    }
}

impl core::error::Error for Loss {}
