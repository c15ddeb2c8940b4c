use std::fmt;

use mcp_listen::{
    client::{CloseReason, Loss, Refusal},
    clock::Millis,
};

/// Why a subscription could not be opened, or did not end gracefully.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListenError {
    /// The URL or a header field is not valid, or a page may not send it.
    InvalidOptions,
    /// The subscription broke off, or could not be opened: listen again, and re-read everything
    /// that it covers.
    Lost(Loss),
    /// The server refused the subscription.
    Refused {
        /// The server's refusal.
        refusal: Refusal,
        /// How long the server asks to wait before another attempt.
        retry_after: Option<Millis>,
    },
}

impl ListenError {
    /// Converts an end to an error; `None` if the server closed the subscription and nothing was
    /// lost.
    pub(super) fn of(end: CloseReason, retry_after: Option<Millis>) -> Option<Self> {
        match end {
            CloseReason::Graceful => None,
            CloseReason::Lost(loss) => Some(Self::Lost(loss)),
            CloseReason::Refused(refusal) => Some(Self::Refused {
                refusal,
                retry_after,
            }),
            // Whatever else it is, changes may have been missed.
            _ => Some(Self::Lost(Loss::Disconnected)),
        }
    }

    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidOptions => "invalid-options",
            Self::Lost(loss) => loss.code(),
            Self::Refused { .. } => "refused",
        }
    }
}

impl fmt::Display for ListenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidOptions => formatter.write_str("the url or a header field is not valid"),
            Self::Lost(loss) => loss.fmt(formatter),
            Self::Refused { .. } => formatter.write_str("the server refused the subscription"),
        }
    }
}

impl std::error::Error for ListenError {}
