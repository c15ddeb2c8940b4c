use alloc::string::String;

use crate::{
    message,
    vocabulary::{
        error::{Reason, Rejection},
        id::RequestId,
    },
};

/// A response that does not come from the upstream server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The JSON-RPC message; `None` if the response has no body.
    pub body: Option<String>,
    /// The class of the refusal, for metrics; `None` if it is none.
    pub refusal: Option<&'static str>,
    /// The seconds for `Retry-After`; `None` if a later attempt makes no sense.
    pub retry_after: Option<u32>,
    /// Whether the body of the request is left unread.
    pub is_unread: bool,
}

impl Response {
    /// Creates a response without a body.
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            body: None,
            refusal: None,
            retry_after: None,
            is_unread: false,
        }
    }

    /// Creates the response with a JSON-RPC result, which is JSON text.
    pub fn result(id: &RequestId, result: &str) -> Self {
        Self {
            body: Some(message::result(id, result)),
            ..Self::empty(200)
        }
    }

    /// Creates a refusal.
    pub fn refused(rejection: &Rejection) -> Self {
        let reason = &rejection.reason;
        // The response to HEAD has no body.
        let has_body = *reason != Reason::MethodNotAllowed;
        Self {
            body: has_body.then(|| message::error(rejection)),
            refusal: Some(reason.kind()),
            retry_after: reason.retry_after(),
            ..Self::empty(reason.status())
        }
    }

    /// Creates a JSON-RPC error with HTTP status 200.
    pub fn in_band(rejection: &Rejection) -> Self {
        Self {
            status: 200,
            retry_after: None,
            ..Self::refused(rejection)
        }
    }

    /// Leaves the body of the request unread.
    #[must_use]
    pub fn unread(self) -> Self {
        Self {
            is_unread: true,
            ..self
        }
    }
}
