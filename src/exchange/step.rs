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

/// What is to be done for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Answer it with this.
    Answer(Answer),
    /// Read its body, up to so many bytes and a little more: [`Exchange::handle_body`](super::Exchange::handle_body).
    Body {
        /// The largest body that is looked at.
        most: usize,
    },
    /// Name its caller: [`Exchange::handle_caller`](super::Exchange::handle_caller), or refuse it.
    Caller,
    /// Find out whether a session may have the id that it names: [`Exchange::handle_session`](super::Exchange::handle_session),
    /// or refuse it.
    Session,
    /// Establish what its caller may hear, and open a stream for it, or refuse it.
    Listen(Accepted),
    /// Hand it to the server behind, and begin a session by what that answers:
    /// [`Exchange::initialized`](super::Exchange::initialized).
    Initialize,
    /// Ask this of its session: [`Exchange::handle_reply`](super::Exchange::handle_reply), or refuse it.
    Ask(Question),
    /// Find out which part of this its caller may hear: [`Exchange::handle_permit`](super::Exchange::handle_permit), or refuse it.
    Authorize {
        /// What it is about.
        requested: SubscriptionFilter,
    },
    /// Hand it to the server behind, in the session that it has there: [`Exchange::handle_status`](super::Exchange::handle_status).
    Send {
        /// How the server behind knows the session; `None`: it keeps none.
        behind: Option<Box<str>>,
    },
    /// Answer it with what the server behind has answered.
    Forward,
    /// Open the stream of its session: [`Exchange::open_session`](super::Exchange::open_session), or refuse it.
    OpenSession,
    /// Hand it to the server behind, as it came.
    Pass {
        /// Of what that answers the capabilities are left out that are not served here.
        withholds: bool,
    },
}

/// An answer that is not the server's behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// What is wrong; `None`: nothing.
    pub rejection: Option<Rejection>,
    /// The request that has the empty result.
    pub done: Option<RequestId>,
    /// The body of the request has not been read, and will not be.
    pub is_unread: bool,
}

impl Answer {
    /// What answers a request by its head alone.
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

    /// As the JSON-RPC error of a request that HTTP itself has nothing against.
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

    /// The JSON-RPC error or result, where the answer has a body.
    pub fn body(&self) -> Option<String> {
        if let Some(id) = &self.done {
            return Some(message::result(id, "{}"));
        }
        let rejection = self.rejection.as_ref();
        // The answer to HEAD has none.
        let told = rejection.filter(|told| told.reason != Reason::MethodNotAllowed);
        told.map(message::error)
    }

    /// Seconds for `Retry-After`, if a later attempt makes sense.
    pub fn retry_after(&self) -> Option<u32> {
        // What has the status 200 was served.
        let refused = self.rejection.as_ref().filter(|_| self.status != 200);
        refused.and_then(|refused| refused.reason.retry_after())
    }
}
