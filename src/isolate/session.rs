use alloc::vec::Vec;

use crate::{
    clock::Millis,
    fanout::StreamId,
    listen::ServerStream,
    upstream::{Past, Watching},
    vocabulary::{event::ServerEvent, position::Mark, uri::Uri},
    wire::Claim,
};

use super::{Isolate, output::Step};

/// What there is to a stream of a session beside the stream (2025-11-25): it is alone in its isolate.
#[derive(Clone, Debug)]
pub struct Joining {
    /// Which stream of which session it is. What the session watches is added there, and told with
    /// [`Watched`](crate::wire::Watched).
    pub session: Claim,
    /// What its client has heard already: what the bus cannot replay of that is made up for by cueing all that is honored.
    pub past: Past,
    /// What its client may no longer hear of, although the session watches it.
    pub denied: Vec<Uri>,
}

/// The session of a stream that is held.
#[derive(Debug)]
pub(super) struct Session {
    id: StreamId,
    denied: Vec<Uri>,
    /// Whether its client has yet to say that it is ready.
    is_held: bool,
    /// The bus replays what happened before the stream was opened, when its caller was known.
    tells_past: bool,
}

impl Isolate {
    /// Holds the stream of a session, which honors the lists; what its session watches it hears too. It goes on from where its
    /// client was, and tells event ids.
    pub fn open_session(
        &mut self,
        stream: ServerStream,
        joining: Joining,
        now: Millis,
    ) -> StreamId {
        let Joining {
            session,
            past,
            denied,
        } = joining;
        let tells_past = past != Past::None;
        let topics = stream.honored().topics();
        self.upstream.begin_session(session, past, stream.honored());
        let id = self.fanout.open_waiting(stream);
        self.lease.enter(id);
        self.fanout.handle_given(id, None);
        self.upstream.want(&topics);
        self.session = Some(Session {
            id,
            denied,
            is_held: false,
            tells_past,
        });
        self.waiting.push(id);
        self.upstream.handle_wish(now);
        id
    }

    /// The bus tells what a session watches, and whether its client is ready.
    pub(super) fn watch(&mut self, watching: Watching) {
        let Watching {
            mut filter,
            is_held,
        } = watching;
        let Some(session) = &mut self.session else {
            return;
        };
        session.is_held = is_held;
        // What is watched no longer is denied no longer either: to be watched again it is authorized anew.
        let watched = &mut filter.resource_subscriptions;
        session.denied.retain(|uri| watched.contains(uri));
        watched.retain(|uri| !session.denied.contains(uri));
        let id = session.id;
        self.steps.push_back(Step::Watched {
            id,
            filter,
            is_held,
        });
    }

    /// Whether the stream of a session is told of an event. That its client is ready may have been said, and lost.
    pub(super) fn tells(
        &mut self,
        event: &ServerEvent,
        published: Option<Millis>,
        now: Millis,
    ) -> bool {
        let Some(session) = &self.session else {
            return true;
        };
        if session.is_held {
            self.upstream.doubt(now);
        }
        // What is replayed tells no time. Who was revoked before this stream was opened has been let in again.
        let is_revoked = matches!(event, ServerEvent::Revoked { .. });
        !(is_revoked && published.is_none() && session.tells_past)
    }

    /// The bus has confirmed the attach of a session's stream: what may have been missed before that it hears of after the
    /// acknowledgment, and of what is replayed all.
    pub(super) fn confirm_session(&mut self, is_whole: bool) -> bool {
        let Some(session) = &self.session else {
            return false;
        };
        let id = session.id;
        let mark = self.upstream.mark().cloned();
        let from = mark.as_ref().map(|mark| mark.position);
        self.steps.push_back(Step::Given { id, mark });
        if !is_whole {
            self.steps.push_back(Step::Lost(id));
        }
        if self.waiting.contains(&id) {
            self.waiting.clear();
            let from = from.unwrap_or_default();
            self.steps.push_back(Step::Attached(id, from));
        }
        true
    }

    /// Up to where the stream of a session has been given all, once it has been given what was heard last.
    pub(super) fn given(&self) -> Option<Mark> {
        self.session
            .as_ref()
            .and_then(|_| self.upstream.mark().cloned())
    }

    /// What is asked of the bus from now on concerns what happened while the stream was open.
    pub(super) fn handle_asked(&mut self) {
        if self.upstream.mark().is_some()
            && let Some(session) = &mut self.session
        {
            session.tells_past = false;
        }
    }

    /// The stream of a session, if this is one.
    pub(super) fn session_of(&self) -> Option<StreamId> {
        self.session.as_ref().map(|session| session.id)
    }

    pub(super) fn end_session(&mut self, id: StreamId) {
        if self.session.take_if(|session| session.id == id).is_some() {
            self.upstream.end_session();
        }
    }
}
