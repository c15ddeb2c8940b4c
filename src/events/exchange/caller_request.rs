use alloc::{boxed::Box, string::String, sync::Arc};

use crate::{
    clock::Millis,
    events::{
        MAX_DEPTH,
        catalogue::{Definition, Mode},
        error::{CodeSet, Codes, EventError, Missing},
        matching::{Expected, MatchResult, Payloads, select},
        name::EventName,
        page::Page,
        streams::Opening,
    },
    http::Response,
    json,
    vocabulary::id::RequestId,
};

use super::{
    Caller, EventService, EventStep, EventSubject, Subscribe,
    parsed_request::ParsedRequest,
    poll,
    request::{EventCall, invalid},
    step::Problem,
};

/// A well-formed request of a named caller.
#[derive(Debug)]
pub(super) struct CallerRequest {
    service: Arc<EventService>,
    caller: Caller,
    id: RequestId,
    codes: CodeSet,
    /// Whether the client declares the extension.
    declares: bool,
    call: EventCall,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Waits for the host, or is final.
    Step(EventStep),
    /// The caller was denied what it asks for, for this reason. Whether it may know of the type
    /// decides what the response says.
    Denied(Option<Box<str>>),
    /// Waits for the match results of a page that was read at this time.
    Matching(Page, Millis),
}

impl CallerRequest {
    /// Begins the request; an error is the refusal.
    pub(super) fn new(
        service: Arc<EventService>,
        caller: Caller,
        parsed: ParsedRequest,
    ) -> Result<Self, Response> {
        let codes = service.settings().codes.for_client(parsed.declares);
        let (id, call) = match (parsed.id, parsed.call) {
            (Some(id), Ok(call)) => (id, *call),
            (id, Err(problem)) => {
                return Err(problem.response(id, (service.settings(), codes)));
            }
            // A request without an id has been refused.
            (None, Ok(_)) => {
                let problem = Problem::from(EventError::Internal("request".into()));
                return Err(problem.response(None, (service.settings(), codes)));
            }
        };
        let mut request = Self {
            service,
            caller,
            id,
            codes,
            declares: parsed.declares,
            call,
            stage: Stage::Step(EventStep::Pass),
        };
        request.stage = request.first();
        Ok(request)
    }

    pub(super) fn poll(&self) -> EventStep {
        match &self.stage {
            Stage::Step(step) => step.clone(),
            Stage::Denied(_) => EventStep::AuthorizeList {
                names: self
                    .definition()
                    .map(|(name, _)| name.clone())
                    .into_iter()
                    .collect(),
            },
            Stage::Matching(..) => EventStep::Match {
                subject: self.subject().cloned().unwrap_or_default(),
            },
        }
    }

    pub(super) fn handle_shown(&mut self, shown: &[EventName]) {
        self.stage = match &self.stage {
            Stage::Step(EventStep::AuthorizeList { .. }) => self.list(|name| shown.contains(name)),
            Stage::Denied(reason) => {
                let is_shown = self
                    .definition()
                    .is_some_and(|(name, _)| shown.contains(name));
                self.refused(if is_shown {
                    EventError::Forbidden {
                        reason: reason.clone(),
                    }
                } else {
                    EventError::NotFound(Missing::Event)
                })
            }
            _ => return,
        };
    }

    pub(super) fn handle_allowed(&mut self) {
        if let Stage::Step(EventStep::Authorize { mode, .. }) = self.stage {
            self.stage = self.admitted(mode);
        }
    }

    pub(super) fn handle_denied(&mut self, reason: Option<&str>) {
        if let Stage::Step(EventStep::Authorize { .. }) = self.stage {
            self.stage = Stage::Denied(reason.map(Into::into));
        }
    }

    pub(super) fn handle_validity(&mut self, is_valid: bool) {
        if let Stage::Step(EventStep::Validate { .. }) = self.stage {
            self.stage = if is_valid {
                self.ready()
            } else {
                self.refused(invalid("params.arguments do not match the inputSchema"))
            };
        }
    }

    pub(super) fn handle_page(&mut self, page: Page, now: Millis) {
        if let Stage::Step(EventStep::Page(_)) = self.stage {
            let is_for_host = matches!(self.expected(), Some(Expected::Host(_)));
            self.stage = if is_for_host && !page.events.is_empty() {
                Stage::Matching(page, now)
            } else {
                self.polled(&page, &[], now)
            };
        }
    }

    pub(super) fn handle_match_results(&mut self, results: &[MatchResult]) {
        if let Stage::Matching(page, now) = &self.stage {
            self.stage = self.polled(page, results, *now);
        }
    }

    pub(super) fn handle_response(&mut self, response: &str) {
        let is_end = match self.stage {
            Stage::Step(EventStep::Subscribe(_)) => false,
            Stage::Step(EventStep::Unsubscribe { .. }) => true,
            _ => return,
        };
        let missing = EventError::NotFound(Missing::Subscription);
        self.stage = match read_response(response) {
            Ok(result) if !is_end => self.succeeded(&result),
            Err(error) if !is_end || error != missing || self.reports_missing() => {
                self.refused(error)
            }
            _ => self.succeeded(EMPTY),
        };
    }

    pub(super) fn opening(&self) -> Option<Opening> {
        let EventCall::Stream { start, .. } = &self.call else {
            return None;
        };
        let (name, _) = self.definition()?;
        Some(Opening {
            id: self.id.clone(),
            name: name.clone(),
            expected: self.expected()?,
            groups: self.caller.groups.clone(),
            cursor: start.cursor.clone(),
            max_age: start.max_age,
            codes: self.codes,
        })
    }

    pub(super) fn refuse(&self, error: EventError) -> Response {
        let target = (self.service.settings(), self.codes);
        Problem::from(error).response(Some(self.id.clone()), target)
    }

    fn first(&self) -> Stage {
        match &self.call {
            EventCall::List(_) if self.service.settings().authorizes => {
                let names = self.service.catalogue().names().cloned().collect();
                Stage::Step(EventStep::AuthorizeList { names })
            }
            EventCall::List(_) => self.list(|_| true),
            EventCall::Unsubscribe { subject, url } => match &self.caller.principal {
                Some(principal) => Stage::Step(EventStep::Unsubscribe {
                    principal: principal.clone(),
                    subject: subject.clone(),
                    url: url.clone(),
                }),
                None => self.refused(EventError::Forbidden { reason: None }),
            },
            EventCall::Poll { subject, .. } => self.find(Mode::Poll, subject),
            EventCall::Stream { subject, .. } => self.find(Mode::Push, subject),
            EventCall::Subscribe { .. } if self.caller.principal.is_none() => {
                self.refused(EventError::Forbidden { reason: None })
            }
            EventCall::Subscribe { subject, .. } => self.find(Mode::Webhook, subject),
        }
    }

    fn list(&self, is_shown: impl Fn(&EventName) -> bool) -> Stage {
        let cursor = match &self.call {
            EventCall::List(cursor) => cursor.as_deref(),
            _ => None,
        };
        match cursor.map(EventName::new).transpose() {
            Ok(after) => self.succeeded(&self.service.catalogue().list(is_shown, after.as_ref())),
            Err(_) => self.refused(invalid("params.cursor is not a cursor of this list")),
        }
    }

    /// A type that does not exist looks like one that the caller may not know of, so its delivery
    /// modes and schema come after the authorization.
    fn find(&self, mode: Mode, subject: &EventSubject) -> Stage {
        if self.definition().is_none() {
            return self.refused(EventError::NotFound(Missing::Event));
        }
        if !self.service.settings().authorizes {
            return self.admitted(mode);
        }
        let subject = subject.clone();
        Stage::Step(EventStep::Authorize { mode, subject })
    }

    fn admitted(&self, mode: Mode) -> Stage {
        if !self
            .definition()
            .is_some_and(|(_, known)| known.modes.has(mode))
        {
            return self.refused(EventError::no_such_mode(Some(mode.name())));
        }
        match self.subject() {
            Some(subject) if self.service.settings().validates => {
                Stage::Step(EventStep::Validate {
                    subject: subject.clone(),
                })
            }
            _ => self.ready(),
        }
    }

    fn ready(&self) -> Stage {
        match self.final_step() {
            Some(step) => Stage::Step(step),
            None => self.refused(EventError::NotFound(Missing::Event)),
        }
    }

    /// Returns the step that does what the request asks for.
    fn final_step(&self) -> Option<EventStep> {
        let (name, _) = self.definition()?;
        let groups = &self.caller.groups;
        Some(match &self.call {
            EventCall::Poll {
                start, max_events, ..
            } => EventStep::Page(poll::log_query(name, start, groups, *max_events)),
            EventCall::Stream { .. } => EventStep::Stream {
                name: name.clone(),
                groups: groups.clone(),
            },
            EventCall::Subscribe {
                subject,
                start,
                delivery,
            } => EventStep::Subscribe(Box::new(Subscribe {
                principal: self.caller.principal.clone()?,
                groups: groups.clone(),
                subject: subject.clone(),
                start: start.clone(),
                delivery: delivery.clone(),
                codes: self.codes,
            })),
            EventCall::List(_) | EventCall::Unsubscribe { .. } => return None,
        })
    }

    fn polled(&self, page: &Page, results: &[MatchResult], now: Millis) -> Stage {
        let (Some((name, _)), Some(expected)) = (self.definition(), self.expected()) else {
            return self.refused(EventError::NotFound(Missing::Event));
        };
        let payloads = Payloads::new(page, core::iter::once(&expected));
        let reader = (&expected, &self.caller.groups[..]);
        let selected = select(page, &payloads, reader, results);
        self.succeeded(&poll::result(name, page, &selected, now))
    }

    /// Whether a client learns that there was nothing to unsubscribe. Clients of the design sketch
    /// take that for a failure.
    fn reports_missing(&self) -> bool {
        self.declares || self.service.settings().codes == Codes::Sep
    }

    fn succeeded(&self, result: &str) -> Stage {
        Stage::Step(EventStep::Respond(Response::result(&self.id, result)))
    }

    fn refused(&self, error: EventError) -> Stage {
        Stage::Step(EventStep::Respond(self.refuse(error)))
    }

    fn subject(&self) -> Option<&EventSubject> {
        self.call.subject()
    }

    fn definition(&self) -> Option<(&EventName, &Definition)> {
        self.service.catalogue().get(&self.subject()?.name)
    }

    fn expected(&self) -> Option<Expected> {
        let (_, known) = self.definition()?;
        known.matching.expected(&self.subject()?.arguments)
    }
}

/// Returns the result in a response of what keeps the subscriptions, as a complete one (2026-07-28,
/// Base protocol, Responses).
fn read_response(response: &str) -> Result<String, EventError> {
    let document = json::read(response.as_bytes(), MAX_DEPTH).ok();
    let root = document.as_ref().map(|document| &document.root);
    let unreadable = || EventError::Internal("webhook".into());
    if let Some(error) = root.and_then(|root| root.get("error")) {
        return Err(json::from_node(error).unwrap_or_else(|_| unreadable()));
    }
    let result = root.and_then(|root| root.get("result")?.as_object());
    let mut out = String::from(EMPTY);
    out.pop();
    for (name, value) in result.ok_or_else(unreadable)?.iter() {
        out.push(',');
        json::push_string(&mut out, name);
        out.push(':');
        out.push_str(&json::to_compact(value));
    }
    out.push('}');
    Ok(out)
}

const EMPTY: &str = "{\"resultType\":\"complete\"}";
