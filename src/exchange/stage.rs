use alloc::boxed::Box;

use crate::{
    http::Response, legacy::LegacyOutcome, listen::ListenOutcome, session::Reply,
    vocabulary::filter::SubscriptionFilter,
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

    pub(super) fn opening(&self) -> Option<&StreamOpening> {
        match self {
            Self::Opening(opening) => Some(opening),
            _ => None,
        }
    }
}
