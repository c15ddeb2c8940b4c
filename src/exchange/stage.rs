use alloc::boxed::Box;

use crate::{
    clock::Millis,
    http::Response,
    legacy::LegacyOutcome,
    listen::{ListenOutcome, ServerStream},
    session::Reply,
    upstream::SessionStart,
    vocabulary::{capabilities::Discovered, filter::SubscriptionFilter, scope::Scope},
};

use super::{opening::StreamOpening, session_request::SessionRequest};

/// The state of an exchange.
#[derive(Debug)]
pub(super) enum Stage {
    Begun,
    /// The server holds no streams.
    Off,
    /// A listen by its header fields: its caller is named before its body is read.
    ByHeader,
    /// Possibly a listen, which its body determines.
    ByBody,
    /// A listen, which is checked once its caller is named.
    Listen(ListenOutcome),
    /// Not a listen.
    Other,
    /// A request that concerns sessions.
    Session(LegacyOutcome),
    /// A request in a session.
    InSession(Box<SessionRequest>),
    /// A request whose stream is opened.
    Opening(Box<StreamOpening>),
    Responded(Response),
}

impl Stage {
    pub(super) fn handle_reply(&mut self, reply: Reply) {
        if let Self::InSession(request) = self
            && let Some(opening) = request.handle_reply(reply)
        {
            *self = Self::Opening(Box::new(opening));
        }
    }

    pub(super) fn handle_permit(&mut self, permit: Option<SubscriptionFilter>) {
        match self {
            Self::InSession(request) => request.handle_permit(permit),
            Self::Opening(opening) => opening.handle_permit(permit),
            _ => {}
        }
    }

    pub(super) fn handle_admitted(&mut self) {
        if let Self::Opening(opening) = self {
            opening.handle_admitted();
        }
    }

    pub(super) fn handle_discovered(&mut self, discovered: Discovered) {
        if let Self::Opening(opening) = self {
            opening.handle_discovered(discovered);
        }
    }

    pub(super) fn handle_status(&mut self, status: u16) {
        if let Self::InSession(request) = self {
            request.handle_status(status);
        }
    }

    pub(super) fn names(&self, scope: Scope) -> usize {
        match self {
            Self::Opening(opening) => opening.names(scope),
            _ => 0,
        }
    }

    pub(super) fn open(
        &mut self,
        keep_alive: Millis,
        now: Millis,
    ) -> Option<(ServerStream, Option<SessionStart>)> {
        match self {
            Self::Opening(opening) => opening.open(keep_alive, now),
            _ => None,
        }
    }
}
