use crate::{
    clock::Millis,
    listen::{Accepted, ServerStream, StreamKind, stream_of},
    upstream::SessionStart,
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
pub(super) struct StreamOpening {
    kind: StreamKind,
    /// What is requested; the resources of a session are not part of it.
    requested: SubscriptionFilter,
    /// What the caller may receive; `None`: everything.
    permit: Option<SubscriptionFilter>,
    discovered: Option<Discovered>,
    /// How the stream of a session joins it. All its resources are denied until the caller is
    /// authorized.
    session: Option<SessionStart>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Authorize,
    Admit,
    Discover,
    Open,
}

impl StreamOpening {
    /// Creates the opening for a listen request.
    pub(super) fn of_listen(Accepted { id, requested }: Accepted) -> Self {
        Self {
            kind: StreamKind::Listen(id),
            requested,
            permit: None,
            discovered: None,
            session: None,
            stage: Stage::Authorize,
        }
    }

    /// Creates the opening for a session, whose client was offered these capabilities. `session`
    /// denies all resources that the session is subscribed to.
    pub(super) fn of_session(session: SessionStart, offered: Capabilities) -> Self {
        Self {
            kind: StreamKind::Session,
            requested: SubscriptionFilter::lists(offered),
            permit: None,
            discovered: Some(offered.into()),
            session: Some(session),
            stage: Stage::Authorize,
        }
    }

    /// Creates the opening of a stream that the server itself reads: it receives the updates of one
    /// resource.
    pub(super) fn of_resource(uri: Uri) -> Self {
        let requested = SubscriptionFilter {
            resource_subscriptions: vec![uri],
            ..SubscriptionFilter::default()
        };
        let id = RequestId::from_text("0");
        Self {
            discovered: Some(Capabilities::ALL.into()),
            stage: Stage::Admit,
            ..Self::of_listen(Accepted { id, requested })
        }
    }

    pub(super) fn poll(&self) -> Step {
        match self.stage {
            Stage::Authorize => Step::Authorize {
                requested: match &self.session {
                    Some(session) => SubscriptionFilter {
                        resource_subscriptions: session.denied.clone(),
                        ..self.requested.clone()
                    },
                    None => self.requested.clone(),
                },
            },
            Stage::Admit => Step::Admit,
            Stage::Discover => Step::Discover,
            Stage::Open => Step::Open,
        }
    }

    pub(super) fn handle_permit(&mut self, permit: Option<SubscriptionFilter>) {
        if self.stage != Stage::Authorize {
            return;
        }
        if let Some(session) = &mut self.session {
            let permitted = permit.as_ref().map(|permit| &permit.resource_subscriptions);
            let is_denied = |uri: &Uri| permitted.is_some_and(|permitted| !permitted.contains(uri));
            session.denied.retain(is_denied);
        }
        self.permit = permit;
        self.stage = Stage::Admit;
    }

    pub(super) fn handle_admitted(&mut self) {
        if self.stage == Stage::Admit {
            self.stage = if self.discovered.is_some() {
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
        if self.session.is_some() {
            return 0;
        }
        let of_caller = SubscriptionFilter {
            scope,
            ..SubscriptionFilter::default()
        };
        name_bytes(&self.requested) + name_bytes(&of_caller)
    }

    /// Returns the stream, and how it joins its session if it is the stream of one; once.
    pub(super) fn open(
        &mut self,
        keep_alive: Millis,
        now: Millis,
    ) -> Option<(ServerStream, Option<SessionStart>)> {
        if self.stage != Stage::Open {
            return None;
        }
        let discovered = self.discovered.take()?;
        let (kind, permit) = (self.kind.clone(), self.permit.as_ref());
        let stream = stream_of(kind, &self.requested, &discovered, permit, keep_alive, now);
        Some((stream, self.session.take()))
    }
}

fn name_bytes(filter: &SubscriptionFilter) -> usize {
    filter.topics().iter().map(Topic::name_bytes).sum()
}
