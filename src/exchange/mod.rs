//! The course of one HTTP request through a server: the steps of its host, and how it ends.

mod opening;
mod service;
mod session_request;
mod stage;
mod step;

pub use service::{LegacyMode, Service, SessionRules};
pub use step::Step;

use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::mem;

use crate::{
    clock::Millis,
    http::{Field, Headers, Response},
    legacy::{self, LegacyCall, LegacyRequest},
    listen::{self, ServerStream},
    off,
    session::Reply,
    upstream::SessionStart,
    vocabulary::{
        capabilities::{Capabilities, Discovered},
        error::{Reason, Rejection},
        filter::SubscriptionFilter,
        id::RequestId,
        scope::Scope,
        uri::Uri,
    },
};

use opening::StreamOpening;
use session_request::SessionRequest;
use stage::Stage;

/// One HTTP request. Its header fields are parsed once. The checks run in the order of this
/// machine, and the first one that fails determines the response.
///
/// Poll [`Exchange::poll`] and carry out the step, which repeats until its `handle_*` was called.
/// [`Step::Respond`], [`Step::Forward`], [`Step::Pass`], [`Step::Initialize`] and [`Step::Open`]
/// are final.
#[derive(Debug)]
pub struct Exchange {
    service: Arc<Service>,
    method: Box<str>,
    headers: Box<str>,
    fields: Vec<Field>,
    body: Option<Box<[u8]>>,
    is_named: bool,
    principal: Option<Box<str>>,
    may_be_session: bool,
    /// Whether to remove from the capabilities of the upstream server what is not served.
    withholds: bool,
    /// The id of the request, for a refusal.
    id: Option<RequestId>,
    stage: Stage,
}

impl Exchange {
    /// Creates the exchange of a request with its absolute URL and header fields (lines `name:
    /// value`). `is_readable`: its body has not been read.
    pub fn new(
        service: Arc<Service>,
        method: &str,
        url: &str,
        headers: &str,
        is_readable: bool,
    ) -> Self {
        let screening = service.screen(method, url, &Headers::new(headers));
        let (response, fields) = screening.into_parts();
        let passed = if is_readable {
            Stage::Begun
        } else {
            Stage::Other
        };
        let stage = response.map_or(passed, Stage::Responded);
        Self::at(stage, service, method, headers, fields)
    }

    /// Creates the exchange of a stream that the server itself reads: of the updates of a resource.
    /// No request has to be checked, so the first step is [`Step::Admit`].
    pub fn of_resource(service: Arc<Service>, uri: Uri) -> Self {
        let stage = Stage::Opening(Box::new(StreamOpening::of_resource(uri)));
        Self::at(stage, service, "", "", Vec::new())
    }

    fn at(
        stage: Stage,
        service: Arc<Service>,
        method: &str,
        headers: &str,
        fields: Vec<Field>,
    ) -> Self {
        Self {
            service,
            method: method.into(),
            headers: headers.into(),
            fields,
            body: None,
            is_named: false,
            principal: None,
            may_be_session: false,
            withholds: false,
            id: None,
            stage,
        }
    }

    /// Returns header fields to add to the response, even to one of the upstream server.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Handles the body; one above the limit of [`Step::Body`] may be cut off anywhere beyond it.
    pub fn handle_body(&mut self, body: Vec<u8>) {
        self.body = Some(body.into_boxed_slice());
    }

    /// Handles the name of the caller; `None`: it has no name, or needs none.
    pub fn handle_caller(&mut self, principal: Option<&str>) {
        self.is_named = true;
        self.principal = principal.map(Into::into);
    }

    /// Records that a session may have the id that the request names.
    pub fn handle_session(&mut self) {
        self.may_be_session = true;
    }

    /// Handles the reply of its session.
    pub fn handle_reply(&mut self, reply: Reply) {
        self.stage.handle_reply(reply);
    }

    /// Grants what was requested and is also in `permit`; `None` grants all of it.
    pub fn handle_permit(&mut self, permit: Option<SubscriptionFilter>) {
        self.stage.handle_permit(permit);
    }

    /// Records that there is room for the stream.
    pub fn handle_admitted(&mut self) {
        self.stage.handle_admitted();
    }

    /// Handles what the upstream server offers.
    pub fn handle_discovered(&mut self, discovered: Discovered) {
        self.stage.handle_discovered(discovered);
    }

    /// Handles the HTTP status of the upstream server's response.
    pub fn handle_status(&mut self, status: u16) {
        self.stage.handle_status(status);
    }

    /// After [`Step::Initialize`]: creates the response from the `body` of the upstream server's
    /// response; `known` are the notifications that the server offers. Returns `None` if the body
    /// is not a result of `initialize`.
    pub fn initialized(
        &self,
        body: &[u8],
        known: Option<Capabilities>,
    ) -> Option<legacy::Initialized> {
        legacy::initialized(self.id.as_ref()?, body, known)
    }

    /// After [`Step::Admit`]: returns how many bytes the names of the stream count, if its caller
    /// has this scope.
    pub fn names(&self, scope: Scope) -> usize {
        self.stage.names(scope)
    }

    /// After [`Step::Open`]: returns the stream, with a keep-alive at this interval (zero: none),
    /// and how it joins its session if it is the stream of one. Returns them once.
    pub fn open(
        &mut self,
        keep_alive: impl Into<Millis>,
        now: Millis,
    ) -> Option<(ServerStream, Option<SessionStart>)> {
        self.stage.open(keep_alive.into(), now)
    }

    /// Returns the refusal of this request.
    pub fn refuse(&self, reason: Reason) -> Response {
        Response::refused(&Rejection::new(reason, self.id.clone()))
    }

    /// Returns the next step.
    pub fn poll(&mut self) -> Step {
        loop {
            if let Some(step) = self.advance() {
                return step;
            }
        }
    }

    /// Advances by one stage, or returns the step that this needs.
    fn advance(&mut self) -> Option<Step> {
        match &self.stage {
            Stage::Begun => {
                self.stage = self.begun();
                None
            }
            Stage::Off => self.off(),
            Stage::ByHeader => self.by_header(),
            Stage::ByBody => self.by_body(),
            Stage::Listen(_) if !self.is_named => Some(Step::Caller),
            Stage::Listen(_) => self.listen(),
            Stage::Other => self.other(),
            Stage::Session(_) => self.session(),
            Stage::InSession(request) => Some(request.poll()),
            Stage::Opening(opening) => Some(opening.poll()),
            Stage::Responded(response) => Some(Step::Respond(response.clone())),
        }
    }

    fn listen(&mut self) -> Option<Step> {
        if let Stage::Listen(outcome) = mem::replace(&mut self.stage, Stage::Other) {
            self.stage = match outcome {
                listen::ListenOutcome::Accepted(accepted) => {
                    self.id = Some(accepted.id.clone());
                    Stage::Opening(Box::new(StreamOpening::of_listen(accepted)))
                }
                listen::ListenOutcome::Rejected(rejection) => {
                    Stage::Responded(Response::refused(&rejection))
                }
            };
        }
        None
    }

    fn begun(&self) -> Stage {
        let (headers, limits) = (self.headers(), self.service.limits());
        if !listen::may_be_listen(&self.method, &headers, limits) {
            return Stage::Other;
        }
        if !self.service.holds_streams() {
            return Stage::Off;
        }
        if listen::is_listen_by_header(&headers) {
            return Stage::ByHeader;
        }
        Stage::ByBody
    }

    fn off(&mut self) -> Option<Step> {
        let Some(body) = &self.body else {
            return Some(self.body_step());
        };
        let limits = self.service.limits();
        match off::classify(&self.method, &self.headers(), body, limits) {
            off::OffOutcome::Listen(rejection) => return self.reject(&rejection),
            off::OffOutcome::Subscribe(rejection) => {
                self.stage = Stage::Responded(Response::in_band(&rejection));
            }
            off::OffOutcome::Capabilities => {
                self.withholds = true;
                self.stage = Stage::Other;
            }
            off::OffOutcome::PassThrough => self.stage = Stage::Other,
        }
        None
    }

    fn by_header(&mut self) -> Option<Step> {
        let body = self.body.as_deref().unwrap_or_default();
        let (headers, limits) = (self.headers(), self.service.limits());
        if let listen::Classified::Rejected(rejection) =
            listen::classify(&self.method, &headers, body, limits)
        {
            self.stage = Stage::Responded(Response {
                is_unread: self.body.is_none(),
                ..Response::refused(&rejection)
            });
            return None;
        }
        if !self.is_named {
            return Some(Step::Caller);
        }
        if self.body.is_none() {
            return Some(self.body_step());
        }
        self.stage = Stage::Listen(listen::validate(&headers, body, limits));
        None
    }

    fn by_body(&mut self) -> Option<Step> {
        let Some(body) = &self.body else {
            return Some(self.body_step());
        };
        let (headers, limits) = (self.headers(), self.service.limits());
        self.stage = match listen::classify(&self.method, &headers, body, limits) {
            listen::Classified::Read(outcome) => Stage::Listen(outcome),
            listen::Classified::Unread => Stage::Listen(listen::validate(&headers, body, limits)),
            listen::Classified::Rejected(rejection) => {
                Stage::Responded(Response::refused(&rejection))
            }
            listen::Classified::PassThrough => Stage::Other,
        };
        None
    }

    fn other(&mut self) -> Option<Step> {
        if self.service.legacy() == LegacyMode::Stateless {
            return Some(self.pass());
        }
        let body = self.body.as_deref().unwrap_or_default();
        let limits = self.service.limits();
        let outcome = legacy::classify(&self.method, &self.headers(), body, limits);
        let is_kept = matches!(self.service.legacy(), LegacyMode::Sessions(_));
        match outcome {
            legacy::LegacyOutcome::PassThrough => Some(self.pass()),
            legacy::LegacyOutcome::Rejected(rejection)
                if !is_kept || rejection.reason.is_transport_level() =>
            {
                self.reject(&rejection)
            }
            legacy::LegacyOutcome::Legacy(request) if !is_kept => {
                let requested = request.version.into();
                let reason = Reason::UnsupportedVersion { requested };
                self.reject(&Rejection::new(reason, request.id))
            }
            legacy::LegacyOutcome::Legacy(request) if !request.is_of_sessions() => {
                Some(self.pass())
            }
            outcome => {
                self.stage = Stage::Session(outcome);
                None
            }
        }
    }

    /// Checks the session id and names the caller before any other check of the request. An id
    /// that no session can have is refused first, which costs nothing.
    fn session(&mut self) -> Option<Step> {
        let Stage::Session(outcome) = &self.stage else {
            return None;
        };
        let names_session = self.headers().get("mcp-session-id").is_some();
        let step = if names_session && !self.may_be_session {
            Some(Step::Session)
        } else if !self.is_named {
            Some(Step::Caller)
        } else {
            None
        };
        // A denied caller learns nothing about its request.
        let reveals_id = step != Some(Step::Caller);
        self.id = match outcome {
            legacy::LegacyOutcome::Legacy(request) if reveals_id => request.id.clone(),
            _ => None,
        };
        if step.is_some() {
            return step;
        }
        match mem::replace(&mut self.stage, Stage::Other) {
            Stage::Session(legacy::LegacyOutcome::Legacy(request)) => self.in_session(request),
            Stage::Session(legacy::LegacyOutcome::Rejected(rejection)) => self.reject(&rejection),
            _ => Some(self.pass()),
        }
    }

    fn in_session(&mut self, request: LegacyRequest) -> Option<Step> {
        let Some(session) = request.session.clone() else {
            if request.call == LegacyCall::Initialize {
                return Some(Step::Initialize);
            }
            let reason = Reason::InvalidRequest("The Mcp-Session-Id header is missing");
            return self.reject(&Rejection::new(reason, request.id));
        };
        let LegacyMode::Sessions(rules) = self.service.legacy() else {
            return Some(self.pass());
        };
        let principal = self.principal.clone();
        let request = SessionRequest::new(request, session, principal, rules);
        self.stage = Stage::InSession(Box::new(request));
        None
    }

    fn headers(&self) -> Headers<'_> {
        Headers::new(&self.headers)
    }

    fn body_step(&self) -> Step {
        Step::Body {
            max_bytes: self.service.limits().body_bytes,
        }
    }

    fn pass(&self) -> Step {
        Step::Pass {
            withholds: self.withholds,
        }
    }

    fn reject(&mut self, rejection: &Rejection) -> Option<Step> {
        self.stage = Stage::Responded(Response::refused(rejection));
        None
    }
}
