use alloc::boxed::Box;

use crate::{http::Response, session::Question, vocabulary::filter::SubscriptionFilter};

/// A step that the host carries out for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Respond with this.
    Respond(Response),
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
    /// Reserve room for a stream with [`Exchange::names`](super::Exchange::names), then call
    /// [`Exchange::handle_admitted`](super::Exchange::handle_admitted), or refuse the request.
    Admit,
    /// Discover what the upstream server offers, then call
    /// [`Exchange::handle_discovered`](super::Exchange::handle_discovered), or refuse the request.
    Discover,
    /// Open the stream: [`Exchange::open`](super::Exchange::open), or refuse the request.
    Open,
    /// Forward the request to the upstream server unchanged.
    Pass {
        /// Whether to remove from the response the capabilities that are not served here.
        withholds: bool,
    },
}
