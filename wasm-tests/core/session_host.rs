//! One session as a host keeps it: as much of `js/sessions` as a case of the corpus needs, and the
//! core behind it.

use std::collections::VecDeque;

use mcp_listen::{
    bus::EdgeId,
    capabilities::Capabilities,
    clock::Millis,
    error::{Reason, Rejection},
    event::ServerEvent,
    filter::SubscriptionFilter,
    http::{Headers, Policy, Screening},
    legacy::{LegacyCall, LegacyOutcome, LegacyRequest, classify, event_id, initialized},
    limits::Limits,
    listen::{self, ServerStream, StreamKind},
    message,
    root::RootOutput,
    session::{Ask, Excess, Reply, SessionLimits},
    upstream::ResumePoint,
};

use crate::alone::{Alone, Frame};
use crate::request::classified;
use crate::session_root::{LIMITS, SessionRoot, session_start};

/// A server that has one session, and a bus with its log.
pub(crate) struct SessionHost {
    limits: Limits,
    capabilities: Capabilities,
    behind: String,
    bus: SessionRoot,
    stream: Option<Stream>,
}

/// The response to a request.
pub(crate) enum Served {
    /// The response of the upstream server.
    Passed,
    /// A status and a body.
    Text(u16, String),
    /// The stream of the session.
    Stream,
}

struct Stream {
    number: EdgeId,
    edge: Alone,
    unread: VecDeque<String>,
    has_ended: bool,
}

impl SessionHost {
    /// `behind` is the response of the upstream server to `initialize`.
    pub(crate) fn new(limits: Limits, capabilities: Capabilities, behind: String) -> Self {
        Self {
            limits,
            capabilities,
            behind,
            bus: SessionRoot::new(),
            stream: None,
        }
    }

    pub(crate) fn serve(&mut self, method: &str, headers: &Headers<'_>, body: &[u8]) -> Served {
        let policy = Policy::new("", None).unwrap();
        if let Screening::Refused(reason, _) = policy.screen(method, URL, headers) {
            return refused(&Rejection::new(reason, None));
        }
        match classified(method, headers, body, &self.limits) {
            Some(listen::ListenOutcome::Rejected(rejection)) => return refused(&rejection),
            Some(other) => panic!("{other:?}"),
            None => {}
        }
        match classify(method, headers, body, &self.limits) {
            LegacyOutcome::Rejected(rejection) => refused(&rejection),
            LegacyOutcome::Legacy(request) if request.session.is_some() => {
                self.in_session(&request)
            }
            LegacyOutcome::Legacy(request) if request.call == LegacyCall::Initialize => {
                self.begin(&request)
            }
            LegacyOutcome::Legacy(request) if request.call.needs_session() => {
                refuse(&request, Reason::InvalidRequest("no session"))
            }
            _ => Served::Passed,
        }
    }

    pub(crate) fn publish(&mut self, event: &ServerEvent) {
        if let Some(Stream { number, edge, .. }) = &mut self.stream {
            self.bus.publish_to(*number, edge, event);
        } else {
            self.bus.publish(event);
        }
        self.write();
    }

    /// Returns the next event of the stream, without its blank line.
    pub(crate) fn next_event(&mut self) -> Option<String> {
        self.stream.as_mut()?.unread.pop_front()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.has_ended)
    }

    fn begin(&self, request: &LegacyRequest) -> Served {
        let id = request.id.as_ref().unwrap();
        let made = initialized(id, self.behind.as_bytes(), Some(self.capabilities));
        Served::Text(200, made.map_or(self.behind.clone(), |made| made.response))
    }

    fn in_session(&mut self, request: &LegacyRequest) -> Served {
        match &request.call {
            LegacyCall::Initialize => refuse(request, Reason::InvalidRequest("a second time")),
            LegacyCall::Initialized => Served::Text(202, String::new()),
            LegacyCall::Ping => done(request),
            LegacyCall::Open { last_event_id } => self.open(request, last_event_id.as_deref()),
            LegacyCall::End => {
                if let Some(stream) = &mut self.stream {
                    stream.edge.close();
                }
                self.write();
                Served::Text(200, String::new())
            }
            LegacyCall::Subscribe(_) | LegacyCall::Unsubscribe(_) | LegacyCall::Invalid(_) => {
                self.watching(request)
            }
            _ => Served::Passed,
        }
    }

    fn watching(&mut self, request: &LegacyRequest) -> Served {
        if !self.capabilities.resources_subscribe {
            return in_band(request, Reason::MethodNotFound);
        }
        let ask = match &request.call {
            LegacyCall::Invalid(reason) => return in_band(request, reason.clone()),
            LegacyCall::Unsubscribe(uri) => Ask::Unsubscribe(uri.clone()),
            LegacyCall::Subscribe(uri) => Ask::Subscribe {
                uri: uri.clone(),
                limits: SessionLimits {
                    uris: self.limits.uris,
                    ..LIMITS
                },
            },
            call => panic!("{call:?}"),
        };
        match self.bus.ask(ask) {
            Reply::Done => {}
            Reply::Full(Excess::Uris(limit)) => {
                let what = "too many";
                return in_band(request, Reason::LimitExceeded { what, limit });
            }
            reply => panic!("{reply:?}"),
        }
        self.send();
        done(request)
    }

    /// Delivers what the bus sends to the stream.
    fn send(&mut self) {
        for output in self.bus.outputs() {
            if let (RootOutput::Send(to, frame), Some(stream)) = (output, &mut self.stream)
                && to == stream.number
            {
                let handled = stream.edge.handle_bus_message(&frame, Millis::default());
                handled.unwrap();
            }
        }
    }

    fn open(&mut self, request: &LegacyRequest, since: Option<&str>) -> Served {
        let resumes = since.is_some();
        let (stream, subscriptions) = match self.bus.ask(Ask::Open { resumes }) {
            Reply::Open {
                stream,
                subscriptions,
                ..
            } => (stream, subscriptions),
            Reply::Taken => return refuse(request, Reason::StreamTaken),
            reply => panic!("{reply:?}"),
        };
        let past = since.map_or(ResumePoint::None, |id| {
            event_id::read(id).map_or(ResumePoint::Unknown, ResumePoint::Since)
        });
        let start = session_start(stream, past);
        let filter = SubscriptionFilter {
            resource_subscriptions: subscriptions,
            ..SubscriptionFilter::lists(self.capabilities)
        };
        let now = Millis::default();
        let stream = ServerStream::with_kind(StreamKind::Session, filter, now, now);
        let mut edge = Alone::of_session(stream, start);
        self.stream = Some(Stream {
            number: self.bus.attach(&mut edge),
            edge,
            unread: VecDeque::new(),
            has_ended: false,
        });
        self.write();
        Served::Stream
    }

    fn write(&mut self) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        while let Some(frame) = stream.edge.poll_frame(Millis::default()) {
            match frame {
                Frame::Bytes(bytes) => {
                    let text = String::from_utf8(bytes).unwrap();
                    let event = text.strip_suffix("\n\n").unwrap();
                    stream.unread.push_back(event.to_owned());
                }
                Frame::End => stream.has_ended = true,
            }
        }
    }
}

fn done(request: &LegacyRequest) -> Served {
    Served::Text(200, message::result(request.id.as_ref().unwrap(), "{}"))
}

fn refuse(request: &LegacyRequest, reason: Reason) -> Served {
    refused(&Rejection::new(reason, request.id.clone()))
}

fn in_band(request: &LegacyRequest, reason: Reason) -> Served {
    Served::Text(
        200,
        message::error(&Rejection::new(reason, request.id.clone())),
    )
}

fn refused(rejection: &Rejection) -> Served {
    Served::Text(rejection.reason.status(), message::error(rejection))
}

const URL: &str = "http://localhost/mcp";
