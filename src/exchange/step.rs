use alloc::{boxed::Box, string::String};

use crate::{
    http::Screening,
    listen::Accepted,
    message,
    session::Question,
    vocabulary::{
        error::{Reason, Rejection},
        filter::SubscriptionFilter,
        id::RequestId,
    },
};

/// A step that the host carries out for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Respond with this.
    Answer(Answer),
    /// Read the body, up to this many bytes and a little more, then call
    /// [`Exchange::handle_body`](super::Exchange::handle_body).
    Body {
        /// The maximum size of a body that is parsed.
        max_bytes: usize,
    },
    /// Name the caller, then call [`Exchange::handle_caller`](super::Exchange::handle_caller), or
    /// refuse the request.
    Caller,
    /// Check whether a session may have the id that the request names, then call
    /// [`Exchange::handle_session`](super::Exchange::handle_session), or refuse the request.
    Session,
    /// Determine what the caller may receive, and open a stream for it, or refuse the request.
    Listen(Accepted),
    /// Forward the request to the upstream server, and begin a session from its response:
    /// [`Exchange::initialized`](super::Exchange::initialized).
    Initialize,
    /// Ask this of the session, then call
    /// [`Exchange::handle_reply`](super::Exchange::handle_reply), or refuse the request.
    Ask(Question),
    /// Determine which part of this the caller may receive, then call
    /// [`Exchange::handle_permit`](super::Exchange::handle_permit), or refuse the request.
    Authorize {
        /// The requested filter.
        requested: SubscriptionFilter,
    },
    /// Forward the request to the upstream server, in the session that it has there, then call
    /// [`Exchange::handle_status`](super::Exchange::handle_status).
    Send {
        /// The session's id at the upstream server; `None` if it keeps none.
        upstream_id: Option<Box<str>>,
    },
    /// Respond with the upstream server's response.
    Forward,
    /// Open the stream of the session: [`Exchange::open_session`](super::Exchange::open_session),
    /// or refuse the request.
    OpenSession,
    /// Forward the request to the upstream server unchanged.
    Pass {
        /// Whether to remove from the response the capabilities that are not served here.
        withholds: bool,
    },
}

/// A response that does not come from the upstream server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The reason of a refusal; `None` if there is none.
    pub rejection: Option<Rejection>,
    /// The id of the request that gets an empty result.
    pub done: Option<RequestId>,
    /// Whether the body of the request is left unread.
    pub is_unread: bool,
}

impl Answer {
    /// Returns the response to a request that its head alone determines.
    pub fn of(screening: &Screening) -> Option<Self> {
        match screening {
            Screening::Passed(_) => None,
            Screening::Preflight(_) => Some(Self::preflight()),
            Screening::Refused(reason, _) => {
                Some(Self::unread(Rejection::new(reason.clone(), None)))
            }
        }
    }

    fn preflight() -> Self {
        Self {
            is_unread: true,
            ..Self::empty(204)
        }
    }

    pub(super) fn empty(status: u16) -> Self {
        Self {
            status,
            rejection: None,
            done: None,
            is_unread: false,
        }
    }

    pub(super) fn done(id: RequestId) -> Self {
        Self {
            done: Some(id),
            ..Self::empty(200)
        }
    }

    pub(super) fn refused(rejection: Rejection) -> Self {
        let status = rejection.reason.status();
        Self {
            rejection: Some(rejection),
            ..Self::empty(status)
        }
    }

    /// Returns a JSON-RPC error with HTTP status 200.
    pub(super) fn in_band(rejection: Rejection) -> Self {
        Self {
            status: 200,
            ..Self::refused(rejection)
        }
    }

    pub(super) fn unread(rejection: Rejection) -> Self {
        Self {
            is_unread: true,
            ..Self::refused(rejection)
        }
    }

    /// Returns the JSON-RPC error or result, if the response has a body.
    pub fn body(&self) -> Option<String> {
        if let Some(id) = &self.done {
            return Some(message::result(id, "{}"));
        }
        let rejection = self.rejection.as_ref();
        // The response to HEAD has no body.
        let rejection = rejection.filter(|rejection| rejection.reason != Reason::MethodNotAllowed);
        rejection.map(message::error)
    }

    /// Returns the seconds for `Retry-After`, if a later attempt makes sense.
    pub fn retry_after(&self) -> Option<u32> {
        // A request with status 200 was served.
        let refused = self.rejection.as_ref().filter(|_| self.status != 200);
        refused.and_then(|refused| refused.reason.retry_after())
    }
}
