//! One request about events: the steps of its host, their order, and the response.

mod caller_request;
mod parsed_request;
mod poll;
mod request;
mod service;
mod step;

pub use request::{EventSubject, RequestedDelivery, Start};
pub use service::{ErrorStatus, EventService, ServiceError, Settings};
pub use step::{Caller, EventStep, Subscribe};

use alloc::{boxed::Box, sync::Arc, vec::Vec};

use crate::{
    clock::Millis,
    http::{Headers, Response},
};

use super::{
    error::EventError, matching::MatchResult, name::EventName, page::Page, streams::Opening,
};

use caller_request::CallerRequest;
use parsed_request::ParsedRequest;
use step::Problem;

/// One request, with its checks in a fixed order: HTTP, caller, JSON, shape, headers, `_meta`,
/// parameters, event type, authorization, delivery mode, arguments. The first one that fails
/// determines the response.
///
/// Poll [`EventExchange::poll`] and carry out the step, which repeats until its `handle_*` was
/// called; any other `handle_*` changes nothing. [`EventStep::Respond`], [`EventStep::Pass`] and
/// [`EventStep::Stream`] are final. [`EventExchange::refuse`] returns a refusal at any step.
#[derive(Debug)]
pub struct EventExchange {
    service: Arc<EventService>,
    headers: Box<str>,
    body: Option<Box<[u8]>>,
    caller: Option<Caller>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Begun,
    /// A request about events by its header fields: its caller is named before its body is read.
    ByHeader,
    /// The body determines whether it is one.
    ByBody,
    /// A request about events whose caller is not named yet.
    Parsed(ParsedRequest),
    /// A well-formed request of a named caller.
    Request(Box<CallerRequest>),
    Responded(Response),
    Passed,
}

impl EventExchange {
    /// Creates the exchange of a POST request with these header fields, lines `name: value`.
    pub fn new(service: Arc<EventService>, headers: &str) -> Self {
        Self {
            service,
            headers: headers.into(),
            body: None,
            caller: None,
            stage: Stage::Begun,
        }
    }

    /// Handles the body; one above the limit of [`EventStep::Body`] may be cut off anywhere beyond
    /// it.
    pub fn handle_body(&mut self, body: Vec<u8>) {
        self.body = Some(body.into_boxed_slice());
    }

    /// Handles the caller.
    pub fn handle_caller(&mut self, caller: Caller) {
        self.caller = Some(caller);
    }

    /// After [`EventStep::AuthorizeList`]: handles the names that the caller may know of.
    pub fn handle_shown(&mut self, shown: &[EventName]) {
        self.with_request(|request| request.handle_shown(shown));
    }

    /// After [`EventStep::Authorize`]: the caller may receive what it asks for.
    pub fn handle_allowed(&mut self) {
        self.with_request(CallerRequest::handle_allowed);
    }

    /// After [`EventStep::Authorize`]: the caller may not. The reason is sent if the caller may
    /// know of the type at all, which [`EventStep::AuthorizeList`] finds out.
    pub fn handle_denied(&mut self, reason: Option<&str>) {
        self.with_request(|request| request.handle_denied(reason));
    }

    /// After [`EventStep::Validate`]: whether the arguments are valid.
    pub fn handle_validity(&mut self, is_valid: bool) {
        self.with_request(|request| request.handle_validity(is_valid));
    }

    /// After [`EventStep::Page`]: handles the page of the log. `now` is in milliseconds since 1970.
    pub fn handle_page(&mut self, page: Page, now: Millis) {
        self.with_request(|request| request.handle_page(page, now));
    }

    /// After [`EventStep::Match`]: handles a result for each occurrence of the page; a missing one
    /// is a failure.
    pub fn handle_match_results(&mut self, results: &[MatchResult]) {
        self.with_request(|request| request.handle_match_results(results));
    }

    /// After [`EventStep::Subscribe`] or [`EventStep::Unsubscribe`]: handles the response of what
    /// keeps the subscriptions, `{"result":OBJECT}` or `{"error":ERROR}` with the text of
    /// [`EventError::to_json`]. The members of the object become those of the result.
    pub fn handle_response(&mut self, response: &str) {
        self.with_request(|request| request.handle_response(response));
    }

    /// Returns a refusal of this request, whatever its step.
    pub fn refuse(&self, error: EventError) -> Response {
        match &self.stage {
            Stage::Request(request) => request.refuse(error),
            _ => self.refused(error.into()),
        }
    }

    /// After [`EventStep::Stream`]: returns what the stream needs.
    pub fn opening(&self) -> Option<Opening> {
        match &self.stage {
            Stage::Request(request) => request.opening(),
            _ => None,
        }
    }

    /// Returns the next step.
    pub fn poll(&mut self) -> EventStep {
        loop {
            if let Some(step) = self.advance() {
                return step;
            }
        }
    }

    /// Advances by one stage, or returns the step that this needs.
    fn advance(&mut self) -> Option<EventStep> {
        let max_bytes = self.service.settings().limits.body_bytes;
        self.stage = match &self.stage {
            Stage::ByHeader | Stage::Parsed(_) if self.caller.is_none() => {
                return Some(EventStep::Caller);
            }
            Stage::ByHeader | Stage::ByBody if self.body.is_none() => {
                return Some(EventStep::Body { max_bytes });
            }
            Stage::Request(request) => return Some(request.poll()),
            Stage::Responded(response) => return Some(EventStep::Respond(response.clone())),
            Stage::Passed => return Some(EventStep::Pass),
            Stage::Begun => self.begun(),
            Stage::ByHeader => self.parse(true),
            Stage::ByBody => self.parse(false),
            Stage::Parsed(parsed) => self.request(parsed.clone()),
        };
        None
    }

    fn begun(&self) -> Stage {
        let (headers, limits) = (self.headers(), &self.service.settings().limits);
        match parsed_request::by_header(&headers, limits) {
            Some(Ok(())) => Stage::ByHeader,
            Some(Err(reason)) => Stage::Responded(self.refused(reason.into()).unread()),
            None if parsed_request::is_readable(&headers, limits) => Stage::ByBody,
            None => Stage::Passed,
        }
    }

    fn parse(&self, is_ours: bool) -> Stage {
        let body = self.body.as_deref().unwrap_or_default();
        let parsed = parsed_request::parse(&self.service, &self.headers(), body, is_ours);
        parsed.map_or(Stage::Passed, Stage::Parsed)
    }

    fn request(&self, parsed: ParsedRequest) -> Stage {
        let (service, caller) = (self.service.clone(), self.caller.clone());
        CallerRequest::new(service, caller.unwrap_or_default(), parsed)
            .map_or_else(Stage::Responded, |request| {
                Stage::Request(Box::new(request))
            })
    }

    fn headers(&self) -> Headers<'_> {
        Headers::new(&self.headers)
    }

    /// Refuses a request that has not been parsed yet.
    fn refused(&self, problem: Problem) -> Response {
        let settings = self.service.settings();
        problem.response(None, (settings, settings.codes.for_client(false)))
    }

    fn with_request(&mut self, handle: impl FnOnce(&mut CallerRequest)) {
        if let Stage::Request(request) = &mut self.stage {
            handle(request);
        }
    }
}
