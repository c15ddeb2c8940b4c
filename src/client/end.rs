use alloc::string::String;
use core::fmt;

use crate::sse::DecodeError;

/// How a subscription ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The server closed it, and nothing was lost.
    Graceful,
    /// It broke off, or what the server sent was not to be borne: changes may have been missed.
    Lost(Loss),
    /// The server refused the request.
    Refused(Refusal),
}

/// Why a subscription broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// The connection came to its end without a result, or was never made.
    Disconnected,
    /// The server gave the subscription up.
    Cancelled,
    /// The answer is none to a listen request.
    InvalidAnswer,
    /// The answer, which is no stream, is larger than allowed.
    AnswerTooLarge,
    /// The acknowledgment says nothing of what is honored.
    MalformedAcknowledgment,
    /// The acknowledgment did not come in time.
    NotAcknowledged,
    /// The open stream gave no sign of life for too long.
    Silence,
    /// The server sends the client elsewhere, and its credentials are not for there.
    Redirected,
    /// The event stream cannot be read on.
    Stream(DecodeError),
}

/// How a server refused a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The JSON-RPC error code, where the answer has one.
    pub code: Option<i32>,
    /// The server's words, where it has any; not to be trusted.
    pub text: String,
}

impl End {
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
            Self::InvalidAnswer => "invalid-answer",
            Self::AnswerTooLarge => "answer-too-large",
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
            Self::Disconnected => "the connection is gone",
            Self::Cancelled => "the server gave the subscription up",
            Self::InvalidAnswer => "the answer is none to a listen request",
            Self::AnswerTooLarge => "the answer is larger than allowed",
            Self::MalformedAcknowledgment => "the acknowledgment names no filter",
            Self::NotAcknowledged => "the subscription was not acknowledged in time",
            Self::Silence => "the stream was silent for too long",
            Self::Redirected => "the server redirects, and credentials go to no other place",
            Self::Stream(error) => return error.fmt(formatter),
        })
    }
}

impl core::error::Error for Loss {}
