use alloc::{borrow::ToOwned, boxed::Box, vec::Vec};

use crate::{clock::Millis, http::Headers, message::PROTOCOL_VERSION, vocabulary::id::RequestId};

use super::{
    end::{CloseReason, Loss},
    http::{buffered_response::BufferedResponse, request::HttpRequest},
    revision::{self, Revision, RevisionOutcome, Versions},
    session::{self, ClientSession, SessionError},
};

/// A request that a client sends before it listens.
#[derive(Debug)]
pub(super) enum ProbeRequest {
    /// Asks whether the server speaks the last of these versions.
    Discover {
        /// Whether the client runs in a browser page.
        is_page: bool,
        tried: Vec<Box<str>>,
    },
    /// Begins a session.
    Initialize,
}

/// The response to a question.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProbeResponse<'a> {
    /// Over HTTP; possibly without a response.
    Http(&'a BufferedResponse),
    /// A message on a channel; `None` if none came in time.
    Message(Option<&'a [u8]>),
}

/// What follows from a response.
#[derive(Debug)]
pub(super) enum ProbeOutcome {
    Ask(ProbeRequest),
    /// The server speaks 2026-07-28.
    Listen,
    /// A session has begun.
    Enter(ClientSession),
    /// Listening is not possible; the server may have said when to retry.
    End(CloseReason, Option<Millis>),
}

impl ProbeRequest {
    pub(super) fn discover(is_page: bool) -> Self {
        let tried = vec![PROTOCOL_VERSION.into()];
        Self::Discover { is_page, tried }
    }

    /// Returns the request to send; on a channel, its body is the message.
    pub(super) fn request(&self, id: &RequestId, client_info: Option<&str>) -> HttpRequest {
        match self {
            Self::Discover { tried, .. } => {
                let version = tried.last().map(|version| &**version).unwrap_or_default();
                revision::probe(id, version, client_info)
            }
            Self::Initialize => session::open(id, client_info),
        }
    }

    pub(super) fn next(self, response: ProbeResponse<'_>) -> ProbeOutcome {
        match self {
            Self::Discover { is_page, tried } => choose(response, is_page, tried),
            Self::Initialize => enter(response),
        }
    }
}

fn choose(response: ProbeResponse<'_>, is_page: bool, mut tried: Vec<Box<str>>) -> ProbeOutcome {
    let versions: Vec<&str> = tried.iter().map(|version| &**version).collect();
    let outcome = match response {
        ProbeResponse::Message(message) => revision::of_line(message, &versions, Versions::OURS),
        ProbeResponse::Http(reply) => reply.status().map_or_else(
            || revision::of_no_response(is_page),
            |status| {
                let head = (status, reply.media());
                revision::of_response(head, reply.body(), &versions, Versions::OURS)
            },
        ),
    };
    match outcome {
        RevisionOutcome::Settled(Revision::Modern(_)) => ProbeOutcome::Listen,
        RevisionOutcome::Settled(Revision::Legacy) => ProbeOutcome::Ask(ProbeRequest::Initialize),
        RevisionOutcome::Retry(version) => {
            tried.push(version);
            ProbeOutcome::Ask(ProbeRequest::Discover { is_page, tried })
        }
        RevisionOutcome::NoCommonVersion(_) => response.no_common_version(),
        RevisionOutcome::Unknown => response.unknown(),
    }
}

fn enter(response: ProbeResponse<'_>) -> ProbeOutcome {
    let read = match response {
        ProbeResponse::Message(message) => {
            let message = message.unwrap_or_default();
            ClientSession::from_response(SUCCESS, &Headers::new(""), message)
        }
        ProbeResponse::Http(reply) => match reply.status() {
            Some(status) => ClientSession::from_response(status, &reply.headers(), reply.body()),
            None => return response.unknown(),
        },
    };
    match read {
        Ok(session) => ProbeOutcome::Enter(session),
        Err(SessionError::Refused(refusal)) => {
            let end = CloseReason::refused(response.status(), refusal.code, refusal.text);
            ProbeOutcome::End(end, response.retry_after())
        }
        Err(SessionError::UnsupportedVersion) => response.no_common_version(),
        Err(_) => ProbeOutcome::End(CloseReason::Lost(Loss::InvalidResponse), None),
    }
}

impl ProbeResponse<'_> {
    /// Ends without a time to retry: a later attempt would find no version in common either.
    fn no_common_version(self) -> ProbeOutcome {
        let text = "no version in common".to_owned();
        ProbeOutcome::End(
            CloseReason::refused(self.status(), Some(UNSUPPORTED_VERSION), text),
            None,
        )
    }

    fn unknown(self) -> ProbeOutcome {
        match self {
            Self::Http(reply) => ProbeOutcome::End(reply.end(), self.retry_after()),
            Self::Message(_) => ProbeOutcome::End(CloseReason::Lost(Loss::InvalidResponse), None),
        }
    }

    /// Zero if no response came, and on a channel.
    fn status(self) -> u16 {
        match self {
            Self::Http(reply) => reply.status().unwrap_or_default(),
            Self::Message(_) => 0,
        }
    }

    fn retry_after(self) -> Option<Millis> {
        match self {
            Self::Http(reply) => reply.retry_after(),
            Self::Message(_) => None,
        }
    }
}

const SUCCESS: u16 = 200;
const UNSUPPORTED_VERSION: i32 = -32_022;
