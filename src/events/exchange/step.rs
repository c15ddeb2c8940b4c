use alloc::{boxed::Box, vec::Vec};

use serde::Deserialize;

use crate::{
    events::{
        GROUP_PREFIX,
        catalogue::Mode,
        error::{CodeSet, EventError},
        name::EventName,
        page::LogQuery,
        streams::error_response,
    },
    http::Response,
    json,
    vocabulary::{
        error::{Reason, Rejection},
        id::RequestId,
        scope::Name,
    },
};

use super::{
    Settings,
    request::{EventSubject, RequestedDelivery, Start},
};

/// A step that the host carries out for a request about events.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventStep {
    /// Respond with this.
    Respond(Response),
    /// Pass the request on: it is not about events.
    Pass,
    /// Read the body, up to this many bytes and a little more, then call
    /// [`EventExchange::handle_body`](super::EventExchange::handle_body).
    Body {
        /// The maximum size of a body that is parsed.
        max_bytes: usize,
    },
    /// Name the caller, then call
    /// [`EventExchange::handle_caller`](super::EventExchange::handle_caller), or respond with a
    /// refusal.
    Caller,
    /// Find out which of these event types the caller may know of, then call
    /// [`EventExchange::handle_shown`](super::EventExchange::handle_shown).
    AuthorizeList {
        /// The names of the types.
        names: Vec<EventName>,
    },
    /// Find out whether the caller may receive this, then call
    /// [`EventExchange::handle_allowed`](super::EventExchange::handle_allowed) or
    /// [`EventExchange::handle_denied`](super::EventExchange::handle_denied).
    Authorize {
        /// How it is to be delivered.
        mode: Mode,
        /// What is to be delivered.
        subject: EventSubject,
    },
    /// Validate the arguments by the schema of the type, then call
    /// [`EventExchange::handle_validity`](super::EventExchange::handle_validity).
    Validate {
        /// The type and its arguments.
        subject: EventSubject,
    },
    /// Ask the log of the bus, then call
    /// [`EventExchange::handle_page`](super::EventExchange::handle_page).
    Page(LogQuery),
    /// Match each occurrence of the page, then call
    /// [`EventExchange::handle_match_results`](super::EventExchange::handle_match_results).
    Match {
        /// The type and the arguments to match.
        subject: EventSubject,
    },
    /// Open a stream: [`EventExchange::opening`](super::EventExchange::opening).
    Stream {
        /// The type of the events.
        name: EventName,
        /// The groups of the caller.
        groups: Vec<Name>,
    },
    /// Subscribe a webhook, then call
    /// [`EventExchange::handle_response`](super::EventExchange::handle_response).
    Subscribe(Box<Subscribe>),
    /// Unsubscribe a webhook, then call
    /// [`EventExchange::handle_response`](super::EventExchange::handle_response).
    Unsubscribe {
        /// The name of the caller.
        principal: Box<str>,
        /// What was subscribed to.
        subject: EventSubject,
        /// The callback URL, as it was written.
        url: Box<str>,
    },
}

/// A subscription to make.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subscribe {
    /// The name of the caller.
    pub principal: Box<str>,
    /// The groups of the caller.
    pub groups: Vec<Name>,
    /// What is subscribed to.
    pub subject: EventSubject,
    /// Where it begins.
    pub start: Start,
    /// Where it is delivered.
    pub delivery: RequestedDelivery,
    /// The error numbers for its end.
    pub codes: CodeSet,
}

/// The caller of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Caller {
    /// The name; `None` if it has none.
    pub principal: Option<Box<str>>,
    /// The groups whose events the caller receives.
    pub groups: Vec<Name>,
}

impl Caller {
    /// Reads an object with any of `principal`, a text, and `groups`, a list of names. `None` if it
    /// is not one, or if a group has the prefix that is reserved for cues.
    pub fn from_json(text: &str) -> Option<Self> {
        let caller: Self = json::from_text(text)?;
        let is_reserved = |group: &Name| group.starts_with(GROUP_PREFIX);
        (!caller.groups.iter().any(is_reserved)).then_some(caller)
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// For a reason that any request may have.
    Request(Reason),
    /// For one of events.
    Events(EventError),
}

impl Problem {
    /// Returns the refusal of the request with this id.
    pub(super) fn response(
        self,
        id: Option<RequestId>,
        (settings, codes): (&Settings, CodeSet),
    ) -> Response {
        let mut response = match self {
            Self::Request(reason) => Response::refused(&Rejection::new(reason, id)),
            Self::Events(error) => {
                let mut response = Response::empty(error.status());
                let is_transient = matches!(error, EventError::Internal(_));
                response.refusal = Some(error.kind());
                response.retry_after = is_transient.then_some(RETRY_AFTER_SECONDS);
                response.body = Some(error_response(id.as_ref(), &error.to_object(codes)));
                response
            }
        };
        response.status = settings.status(response.status);
        response
    }
}

impl From<Reason> for Problem {
    fn from(reason: Reason) -> Self {
        Self::Request(reason)
    }
}

impl From<EventError> for Problem {
    fn from(error: EventError) -> Self {
        Self::Events(error)
    }
}

/// Seconds of `Retry-After` in the response to a refusal that will pass.
const RETRY_AFTER_SECONDS: u32 = 2;
