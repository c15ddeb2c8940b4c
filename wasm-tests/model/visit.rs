use std::{collections::BTreeSet, sync::Arc};

use mcp_listen::{
    capabilities::Capabilities,
    clock::Millis,
    exchange::{Exchange, LegacyMode, Service, SessionRules, Step},
    filter::SubscriptionFilter,
    http::{Policy, Response},
    isolate::SessionStart,
    limits,
    listen::ServerStream,
    session::{Reply, SessionLimits},
};

use crate::{
    invariant::{Violation, ensure},
    request::{Asks, Request, URL},
};

/// One request on its way through a server, as in `js/exchange-driver.ts`.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) at: usize,
    pub(crate) asks: Asks,
    pub(crate) isolate: usize,
    pub(crate) fault: Fault,
    pub(crate) principal: Option<&'static str>,
    pub(crate) core: Exchange,
    /// The state of the world when the request came, if nothing prevents its success.
    pub(crate) opened_in: Option<u64>,
    /// The reply of the session, and the calls to shards that come first.
    pub(crate) reply: Option<Reply>,
    pub(crate) awaited: BTreeSet<u32>,
    body: String,
    is_named: bool,
    steps: usize,
}

/// The fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The disk fails after this many writes.
    Disk(u8),
    /// Its caller cannot be authenticated.
    Nameless,
    /// Its session id is not one that this server creates.
    Foreign,
    /// Its caller may receive nothing.
    Denied,
    /// Its caller may receive only lists.
    DeniedResources,
    /// The upstream server replies with this status.
    Upstream(u16),
}

/// How it ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// With our reply.
    Responded(Response),
    /// With a reply of the upstream server, with this status.
    Forwarded(u16),
    /// With a new session.
    Begun(Box<str>),
    /// With a stream.
    Opened(Box<ServerStream>, Option<SessionStart>),
}

/// The pending work of its host.
pub(crate) enum Todo {
    /// The request continues as soon as this is done.
    Ask(mcp_listen::session::Question),
    Initialize,
    Open,
    End(Outcome),
}

impl Fault {
    /// The fault of a byte; most bytes mean none.
    pub(crate) fn of(byte: u8) -> Self {
        match byte % 16 {
            8 => Self::Disk(0),
            9 => Self::Disk(1),
            10 => Self::Nameless,
            11 => Self::Foreign,
            12 => Self::Denied,
            6 | 7 | 13 => Self::DeniedResources,
            14 => Self::Upstream(404),
            15 => Self::Upstream(500),
            _ => Self::None,
        }
    }

    pub(crate) fn disk(self) -> Option<u8> {
        match self {
            Self::Disk(after) => Some(after),
            _ => None,
        }
    }

    fn status(self) -> u16 {
        match self {
            Self::Upstream(status) => status,
            _ => 202,
        }
    }

    /// What the caller may receive of the request; `None`: nothing.
    pub(crate) fn permit(self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        match self {
            Self::Denied => None,
            Self::DeniedResources => Some(SubscriptionFilter {
                resource_subscriptions: Vec::new(),
                ..requested.clone()
            }),
            _ => Some(requested.clone()),
        }
    }
}

impl Visit {
    pub(crate) fn new(service: Arc<Service>, at: usize, asks: Asks, request: Request) -> Self {
        let Request {
            method,
            headers,
            body,
        } = request;
        Self {
            at,
            asks,
            isolate: 0,
            fault: Fault::None,
            principal: None,
            core: Exchange::new(service, method, URL, &headers, true),
            opened_in: None,
            reply: None,
            awaited: BTreeSet::new(),
            body,
            is_named: false,
            steps: 0,
        }
    }

    /// Continues until its host has to do something that concerns others.
    pub(crate) fn advance(&mut self) -> Result<Todo, Violation> {
        loop {
            let step = self.core.poll();
            self.count(&step)?;
            match step {
                Step::Body { .. } => self.core.handle_body(self.body.clone().into()),
                Step::Caller if self.fault == Fault::Nameless => return Ok(self.refuse(401)),
                Step::Caller => {
                    self.is_named = true;
                    self.core.handle_caller(self.principal);
                }
                Step::Session if self.fault == Fault::Foreign => return Ok(self.refuse(404)),
                Step::Session => self.core.handle_session(),
                Step::Authorize { requested } => match self.fault.permit(&requested) {
                    Some(permit) => self.core.handle_permit(Some(permit)),
                    None => return Ok(self.refuse(403)),
                },
                Step::Send { .. } => self.core.handle_status(self.fault.status()),
                Step::Forward => return Ok(Todo::End(Outcome::Forwarded(self.fault.status()))),
                Step::Respond(response) => return Ok(Todo::End(Outcome::Responded(response))),
                Step::Ask(question) => return Ok(Todo::Ask(question)),
                Step::Initialize => return Ok(Todo::Initialize),
                Step::Admit => self.core.handle_admitted(),
                Step::Discover => self.core.handle_discovered(Capabilities::ALL.into()),
                Step::Open => return Ok(Todo::Open),
                step => {
                    return Err(Violation::new(
                        "our requests get a reply here",
                        format!("{step:?} for {:?}", self.asks),
                    ));
                }
            }
        }
    }

    /// Refused by its host.
    pub(crate) fn refuse(&self, status: u16) -> Todo {
        let reason = match status {
            401 => mcp_listen::error::Reason::Unauthorized,
            403 => mcp_listen::error::Reason::Forbidden,
            404 => mcp_listen::error::Reason::SessionNotFound,
            _ => mcp_listen::error::Reason::Unavailable,
        };
        Todo::End(Outcome::Responded(self.core.refuse(reason)))
    }

    fn count(&mut self, step: &Step) -> Result<(), Violation> {
        self.steps += 1;
        ensure(
            "a request takes a few steps",
            self.steps <= MAX_STEPS,
            || format!("{:?} still asks for {step:?}", self.asks),
        )?;
        let needs_name = matches!(
            step,
            Step::Ask(_)
                | Step::Authorize { .. }
                | Step::Admit
                | Step::Discover
                | Step::Open
                | Step::Initialize
                | Step::Send { .. }
        );
        ensure(
            "nothing is done for an unauthenticated caller",
            self.is_named || !needs_name,
            || format!("{step:?} for {:?}", self.asks),
        )
    }
}

/// The server of all requests.
pub(crate) fn service(limits: SessionLimits, authorizes: bool) -> Arc<Service> {
    let rules = SessionRules { limits, authorizes };
    let legacy = LegacyMode::Sessions(rules);
    let policy = Policy::default();
    Arc::new(Service::new(policy, limits::Limits::default(), legacy))
}

/// The limits of sessions; most worlds leave them room.
pub(crate) fn bounds(which: u8) -> SessionLimits {
    let roomy = SessionLimits {
        sessions: 100,
        unnamed_sessions: 100,
        sessions_per_principal: 100,
        uris: 100,
        session_uri_bytes: 10_000,
        bus_uri_bytes: 10_000,
        unnamed_uri_bytes: 10_000,
    };
    match which % 4 {
        1 => SessionLimits {
            sessions_per_principal: 2,
            ..roomy
        },
        2 => SessionLimits {
            uris: 2,
            bus_uri_bytes: 3 * URI_BYTES,
            unnamed_uri_bytes: 2 * URI_BYTES,
            ..roomy
        },
        3 => SessionLimits {
            sessions: 3,
            unnamed_sessions: 2,
            sessions_per_principal: 2,
            session_uri_bytes: 2 * URI_BYTES,
            ..roomy
        },
        _ => roomy,
    }
}

/// The lists and resources that a server offers to a session.
pub(crate) fn capabilities(lists: &SubscriptionFilter) -> Capabilities {
    Capabilities {
        tools_list_changed: lists.tools_list_changed,
        prompts_list_changed: lists.prompts_list_changed,
        resources_list_changed: lists.resources_list_changed,
        resources_subscribe: true,
        ..Capabilities::default()
    }
}

/// The bytes that a resource counts: its name, and 64 more.
pub(crate) const URI_BYTES: usize = 66;
/// How long an unused session lives.
pub(crate) const IDLE: Millis = Millis(65_000);
const MAX_STEPS: usize = 12;
