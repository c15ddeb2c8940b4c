use alloc::vec::Vec;

use crate::{
    clock::Millis,
    listen::{Accepted, ServerStream, StreamKind},
    session::Claim,
    upstream::{ResumePoint, SessionStart},
    vocabulary::{
        capabilities::{Capabilities, Discovered},
        filter::SubscriptionFilter,
        id::RequestId,
        scope::Scope,
        topic::Topic,
        uri::Uri,
    },
};

use super::Step;

/// A stream that is not open yet. Its caller is authorized, then there has to be room for it, then
/// the capabilities of the server are discovered.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    source: Source,
    /// What the caller may receive; `None`: everything.
    permit: Option<SubscriptionFilter>,
    /// What the server offers to a listen.
    discovered: Option<Discovered>,
    stage: Stage,
}

/// What the stream is opened for.
#[derive(Clone, Debug)]
enum Source {
    Listen(Accepted),
    Session(SessionStream),
}

/// The stream of a session.
#[derive(Clone, Debug)]
pub(super) struct SessionStream {
    /// What its client was offered.
    pub(super) capabilities: Capabilities,
    /// The resources that the session is subscribed to.
    pub(super) resources: Vec<Uri>,
    pub(super) claim: Claim,
    /// What its client has received already.
    pub(super) past: ResumePoint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Authorize,
    Admit,
    Discover,
    Open,
}

impl Opening {
    /// Creates the opening for a listen request.
    pub(super) fn of_listen(accepted: Accepted) -> Self {
        Self::new(Source::Listen(accepted), Stage::Authorize)
    }

    /// Creates the opening for a session; `authorizes`: whether the host restricts what its caller
    /// may receive.
    pub(super) fn of_session(session: SessionStream, authorizes: bool) -> Self {
        let stage = if authorizes {
            Stage::Authorize
        } else {
            Stage::Admit
        };
        Self::new(Source::Session(session), stage)
    }

    /// Creates the opening of a stream that the server itself reads: it receives the updates of one
    /// resource.
    pub(super) fn of_resource(uri: Uri) -> Self {
        let id = RequestId::from_text("0");
        let requested = SubscriptionFilter {
            resource_subscriptions: vec![uri],
            ..SubscriptionFilter::default()
        };
        Self {
            discovered: Some(Discovered {
                capabilities: Capabilities::ALL,
                server_info: None,
                fresh_until: None,
                is_public: true,
            }),
            ..Self::new(Source::Listen(Accepted { id, requested }), Stage::Admit)
        }
    }

    fn new(source: Source, stage: Stage) -> Self {
        Self {
            source,
            permit: None,
            discovered: None,
            stage,
        }
    }

    pub(super) fn poll(&self) -> Step {
        match self.stage {
            Stage::Authorize => Step::Authorize {
                requested: self.requested(),
            },
            Stage::Admit => Step::Admit,
            Stage::Discover => Step::Discover,
            Stage::Open => Step::Open,
        }
    }

    pub(super) fn handle_permit(&mut self, permit: Option<SubscriptionFilter>) {
        if self.stage == Stage::Authorize {
            self.permit = permit;
            self.stage = Stage::Admit;
        }
    }

    pub(super) fn handle_admitted(&mut self) {
        if self.stage == Stage::Admit {
            let is_known = self.discovered.is_some() || matches!(self.source, Source::Session(_));
            self.stage = if is_known {
                Stage::Open
            } else {
                Stage::Discover
            };
        }
    }

    pub(super) fn handle_discovered(&mut self, discovered: Discovered) {
        if self.stage == Stage::Discover {
            self.discovered = Some(discovered);
            self.stage = Stage::Open;
        }
    }

    /// Returns the bytes that the names of the stream count; the names of a session count in its
    /// store.
    pub(super) fn names(&self, scope: Scope) -> usize {
        let Source::Listen(accepted) = &self.source else {
            return 0;
        };
        let filter = SubscriptionFilter {
            scope,
            ..accepted.requested.clone()
        };
        filter.topics().iter().map(Topic::name_bytes).sum()
    }

    /// Returns the stream, and how it joins its session if it is the stream of one.
    pub(super) fn open(
        &self,
        keep_alive: Millis,
        now: Millis,
    ) -> Option<(ServerStream, Option<SessionStart>)> {
        if self.stage != Stage::Open {
            return None;
        }
        let permit = self.permit.as_ref();
        Some(match &self.source {
            Source::Listen(accepted) => {
                let discovered = self.discovered.as_ref()?;
                (accepted.open(discovered, permit, keep_alive, now), None)
            }
            Source::Session(session) => {
                let (stream, start) = session.open(permit, keep_alive, now);
                (stream, Some(start))
            }
        })
    }

    fn requested(&self) -> SubscriptionFilter {
        match &self.source {
            Source::Listen(accepted) => accepted.requested.clone(),
            Source::Session(session) => SubscriptionFilter {
                resource_subscriptions: session.resources.clone(),
                ..SubscriptionFilter::lists(session.capabilities)
            },
        }
    }
}

impl SessionStream {
    fn open(
        &self,
        permit: Option<&SubscriptionFilter>,
        keep_alive: Millis,
        now: Millis,
    ) -> (ServerStream, SessionStart) {
        let lists = SubscriptionFilter::lists(self.capabilities);
        let honored = lists.honored(self.capabilities, permit);
        let stream = ServerStream::with_kind(StreamKind::Session, honored, keep_alive, now);
        let is_denied =
            |uri: &&Uri| permit.is_some_and(|permit| !permit.resource_subscriptions.contains(*uri));
        let start = SessionStart {
            session: self.claim.clone(),
            past: self.past.clone(),
            denied: self.resources.iter().filter(is_denied).cloned().collect(),
        };
        (stream, start)
    }
}
