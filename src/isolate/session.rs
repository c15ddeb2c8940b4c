use alloc::vec::Vec;

use crate::{
    clock::Millis,
    fanout::StreamId,
    listen::ServerStream,
    upstream::{ResumePoint, SessionFilter, SessionStart},
    vocabulary::{event::ServerEvent, position::Cursor, uri::Uri},
};

use super::{Isolate, output::IsolateStep};

/// The session of the stream.
#[derive(Debug)]
pub(super) struct StreamSession {
    id: StreamId,
    denied: Vec<Uri>,
    /// Whether the client has not reported yet that it is ready.
    is_paused: bool,
    /// Whether the bus replays events from before the stream was opened and its caller
    /// authenticated.
    replays_past: bool,
}

impl Isolate {
    /// Adds the stream of a session, which honors the lists and receives the session's
    /// subscriptions too. It continues from where its client was, and sends event ids.
    pub fn open_session(
        &mut self,
        stream: ServerStream,
        start: SessionStart,
        now: Millis,
    ) -> StreamId {
        let SessionStart {
            session,
            past,
            denied,
        } = start;
        let replays_past = past != ResumePoint::None;
        let topics = stream.honored().topics();
        self.upstream.begin_session(session, past, stream.honored());
        let id = self.fanout.open_waiting(stream);
        self.lease.enter(id);
        self.fanout.handle_delivered(id, None);
        self.upstream.want(&topics);
        self.session = Some(StreamSession {
            id,
            denied,
            is_paused: false,
            replays_past,
        });
        self.waiting.insert(id);
        self.upstream.retry_now(now);
        id
    }

    /// Handles the subscriptions of the session, and whether its client is ready.
    pub(super) fn set_session_filter(&mut self, new: SessionFilter) {
        let SessionFilter {
            mut filter,
            is_paused,
        } = new;
        let Some(session) = &mut self.session else {
            return;
        };
        session.is_paused = is_paused;
        // A resource that is unsubscribed is no longer denied: a new subscription to it is
        // authorized again.
        let watched = &mut filter.resource_subscriptions;
        session.denied.retain(|uri| watched.contains(uri));
        watched.retain(|uri| !session.denied.contains(uri));
        let id = session.id;
        self.steps.push_back(IsolateStep::SessionInterest {
            id,
            filter,
            is_paused,
        });
    }

    /// Whether the stream of a session receives an event. If the client is not ready, asks the bus,
    /// because the message that it is may be lost.
    pub(super) fn delivers(
        &mut self,
        event: &ServerEvent,
        published: Option<Millis>,
        now: Millis,
    ) -> bool {
        let Some(session) = &self.session else {
            return true;
        };
        if session.is_paused {
            self.upstream.report_gap(now);
        }
        // Replayed events have no time. A caller disconnected before this stream was opened was
        // admitted again.
        let is_disconnect = matches!(event, ServerEvent::Disconnect { .. });
        !(is_disconnect && published.is_none() && session.replays_past)
    }

    /// Handles the confirmation of a session's stream. What may have been missed before is cued
    /// after the acknowledgment, and all replayed events are delivered.
    pub(super) fn confirm_session(&mut self, is_whole: bool) -> bool {
        let Some(session) = &self.session else {
            return false;
        };
        let id = session.id;
        let cursor = self.upstream.cursor().cloned();
        let from = cursor.as_ref().map(|cursor| cursor.position);
        self.steps.push_back(IsolateStep::Delivered { id, cursor });
        if !is_whole {
            self.steps.push_back(IsolateStep::Lost(id));
        }
        if self.waiting.remove(id) {
            let from = from.unwrap_or_default();
            self.steps.push_back(IsolateStep::Attached(id, from));
        }
        true
    }

    /// Returns the cursor up to which the stream of a session has every event after the last
    /// received one.
    pub(super) fn delivered(&self) -> Option<Cursor> {
        self.session
            .as_ref()
            .and_then(|_| self.upstream.cursor().cloned())
    }

    /// Records that later replays concern only events published while the stream was open.
    pub(super) fn handle_asked(&mut self) {
        if self.upstream.cursor().is_some()
            && let Some(session) = &mut self.session
        {
            session.replays_past = false;
        }
    }

    /// Returns the stream of the session, if there is one.
    pub(super) fn session_of(&self) -> Option<StreamId> {
        self.session.as_ref().map(|session| session.id)
    }

    pub(super) fn end_session(&mut self, id: StreamId) {
        if self.session.take_if(|session| session.id == id).is_some() {
            self.upstream.end_session();
        }
    }
}
