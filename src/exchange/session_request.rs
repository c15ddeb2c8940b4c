use alloc::boxed::Box;

use crate::{
    http::Response,
    legacy::{LegacyCall, LegacyRequest, event_id},
    session::{Ask, Claim, Excess, Question, Reply},
    upstream::{ResumePoint, SessionStart},
    vocabulary::{
        capabilities::Capabilities,
        error::{Reason, Rejection},
        filter::SubscriptionFilter,
        uri::Uri,
    },
};

use super::{SessionRules, Step, opening::StreamOpening};

/// A request in a session that is kept here.
#[derive(Clone, Debug)]
pub(super) struct SessionRequest {
    request: LegacyRequest,
    session: Box<str>,
    principal: Option<Box<str>>,
    rules: SessionRules,
    stage: Stage,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Waits for a reply of the session; `has_response`: the upstream server has already responded
    /// to the request.
    Ask {
        ask: Ask,
        has_response: bool,
    },
    /// Waits for the host to decide whether the caller may subscribe to this resource.
    Authorize(Uri),
    /// Forwards to the upstream server; `updates_session`: because the session has to be updated
    /// there first.
    Send {
        upstream_id: Option<Box<str>>,
        updates_session: bool,
    },
    Forward,
    Responded(Response),
}

impl SessionRequest {
    /// Begins a request of this caller that names a session.
    pub(super) fn new(
        request: LegacyRequest,
        session: Box<str>,
        principal: Option<Box<str>>,
        rules: SessionRules,
    ) -> Self {
        let ask = match &request.call {
            LegacyCall::Initialize | LegacyCall::Ping => Ask::Use,
            LegacyCall::Initialized => Ask::Initialized {
                is_forwarded: false,
            },
            LegacyCall::Subscribe(uri) if !rules.authorizes => Ask::Subscribe {
                uri: uri.clone(),
                limits: rules.limits,
            },
            // A session that may not subscribe is refused before its parameters are checked and
            // before `authorize` is called.
            LegacyCall::Subscribe(_) | LegacyCall::Invalid(_) => Ask::MaySubscribe,
            LegacyCall::Unsubscribe(uri) => Ask::Unsubscribe(uri.clone()),
            LegacyCall::Open { last_event_id } => Ask::Open {
                resumes: last_event_id.is_some(),
            },
            LegacyCall::End => Ask::End {
                is_forwarded: false,
            },
            LegacyCall::Other => Ask::UpstreamId,
        };
        Self {
            request,
            session,
            principal,
            rules,
            stage: Stage::Ask {
                ask,
                has_response: false,
            },
        }
    }

    pub(super) fn poll(&self) -> Step {
        match &self.stage {
            Stage::Ask { ask, .. } => Step::Ask(Question {
                session: self.session.clone(),
                principal: self.principal.clone(),
                ask: ask.clone(),
            }),
            Stage::Authorize(uri) => Step::Authorize {
                requested: SubscriptionFilter {
                    resource_subscriptions: vec![uri.clone()],
                    ..SubscriptionFilter::default()
                },
            },
            Stage::Send { upstream_id, .. } => Step::Send {
                upstream_id: upstream_id.clone(),
            },
            Stage::Forward => Step::Forward,
            Stage::Responded(response) => Step::Respond(response.clone()),
        }
    }

    /// Handles a reply of the session. Returns the stream that may open then.
    pub(super) fn handle_reply(&mut self, reply: Reply) -> Option<StreamOpening> {
        let Stage::Ask { ask, has_response } = &self.stage else {
            return None;
        };
        self.stage = match reply {
            _ if *has_response => Stage::Forward,
            Reply::Unknown => self.refused(Reason::SessionNotFound),
            Reply::Taken => self.refused(Reason::StreamTaken),
            Reply::NotOffered => self.in_band(Reason::MethodNotFound),
            Reply::Full(excess) => self.in_band(reason_of(excess)),
            Reply::UpstreamId(upstream_id) => Stage::Send {
                upstream_id,
                updates_session: false,
            },
            Reply::ForwardFirst(upstream_id) if ask.needs_forward() => Stage::Send {
                upstream_id: Some(upstream_id),
                updates_session: true,
            },
            Reply::Open {
                capabilities,
                stream,
                since,
                subscriptions,
            } => {
                let start = SessionStart {
                    session: Claim {
                        session: self.session.clone(),
                        stream,
                        principal: self.principal.clone(),
                    },
                    past: self.past(&since),
                    denied: subscriptions,
                };
                let offered = Capabilities::from_json(&capabilities);
                let mut opening = StreamOpening::of_session(start, offered);
                if !self.rules.authorizes {
                    opening.handle_permit(None);
                }
                return Some(opening);
            }
            Reply::Done => self.done(ask),
            // The upstream server has received it already.
            Reply::ForwardFirst(_) => self.refused(Reason::Unavailable),
        };
        None
    }

    /// Handles what the caller may receive; `None`: everything.
    pub(super) fn handle_permit(&mut self, permit: Option<SubscriptionFilter>) {
        let Stage::Authorize(uri) = &self.stage else {
            return;
        };
        let is_permitted = permit.is_none_or(|permit| permit.resource_subscriptions.contains(uri));
        // A denied resource is handled like one that does not exist and never changes.
        self.stage = Self::asking(if is_permitted {
            Ask::Subscribe {
                uri: uri.clone(),
                limits: self.rules.limits,
            }
        } else {
            Ask::Unsubscribe(uri.clone())
        });
    }

    /// Handles the status of the upstream server's response.
    pub(super) fn handle_status(&mut self, status: u16) {
        let Stage::Send {
            upstream_id,
            updates_session,
        } = &self.stage
        else {
            return;
        };
        let is_end = self.request.call == LegacyCall::End;
        // A server that no longer has the session, or does not let clients end one, must not keep
        // ours alive.
        let is_forwarded = matches!(status, 200..300) || is_end && matches!(status, 404 | 405);
        self.stage = if *updates_session && is_forwarded {
            Self::asking(if is_end {
                Ask::End { is_forwarded: true }
            } else {
                Ask::Initialized { is_forwarded: true }
            })
        } else if status == 404 && upstream_id.is_some() {
            // For the client this status means that the session has ended, so it ends here too.
            Stage::Ask {
                ask: Ask::End { is_forwarded: true },
                has_response: true,
            }
        } else {
            Stage::Forward
        };
    }

    /// Returns what the client of a session, which began at the event id `since`, has received. A
    /// client without an event id may have received nothing since then.
    fn past(&self, since: &str) -> ResumePoint {
        let since: &str = match &self.request.call {
            LegacyCall::Open {
                last_event_id: Some(id),
            } => id,
            _ => since,
        };
        event_id::read(since).map_or(ResumePoint::Unknown, ResumePoint::Since)
    }

    fn done(&self, ask: &Ask) -> Stage {
        let response = match &self.request.call {
            LegacyCall::Subscribe(uri) if *ask == Ask::MaySubscribe => {
                return Stage::Authorize(uri.clone());
            }
            LegacyCall::Invalid(reason) => return self.in_band(reason.clone()),
            LegacyCall::Initialize => {
                let why = "This session is initialized already";
                return self.refused(Reason::InvalidRequest(why));
            }
            LegacyCall::Initialized => Response::empty(202),
            LegacyCall::End => Response::empty(200),
            _ => self
                .request
                .id
                .as_ref()
                .map_or(Response::empty(200), |id| Response::result(id, "{}")),
        };
        Stage::Responded(response)
    }

    fn asking(ask: Ask) -> Stage {
        Stage::Ask {
            ask,
            has_response: false,
        }
    }

    fn refused(&self, reason: Reason) -> Stage {
        let rejection = Rejection::new(reason, self.request.id.clone());
        Stage::Responded(Response::refused(&rejection))
    }

    fn in_band(&self, reason: Reason) -> Stage {
        let rejection = Rejection::new(reason, self.request.id.clone());
        Stage::Responded(Response::in_band(&rejection))
    }
}

fn reason_of(excess: Excess) -> Reason {
    let (what, limit) = match excess {
        Excess::Uris(limit) => ("Too many resource URIs", limit),
        Excess::Bytes(limit) => ("Too many bytes of resource URIs", limit),
    };
    Reason::LimitExceeded { what, limit }
}
