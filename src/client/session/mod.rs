//! The client side of 2025-11-25 and earlier: requests to a server, and how to read its responses.

pub(crate) mod listener;
mod reopening;
pub(crate) mod resource_subscriptions;
mod stream;

use alloc::{borrow::ToOwned, boxed::Box, string::String};
use core::fmt;

use crate::{
    http::Headers,
    json::{self, Node},
    legacy::VERSIONS,
    listen::Incoming,
    message::{self, SUBSCRIBE, UNSUBSCRIBE},
    sse,
    vocabulary::{capabilities::Capabilities, event::ServerEvent, id::RequestId, limits::Limits},
};

use crate::client::{
    end::Refusal,
    http::{
        request::{HttpRequest, VERSION},
        response::{RpcError, is_success},
    },
};

/// A session, as established by the response to `initialize`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientSession {
    /// The session id; `None` if the server assigns none.
    pub id: Option<Box<str>>,
    /// The negotiated revision.
    pub version: &'static str,
    /// The capabilities of the server.
    pub capabilities: Capabilities,
}

/// Why a response to `initialize` does not establish a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionError {
    /// The server refused the request.
    Refused(Refusal),
    /// The response is not a result of `initialize`.
    InvalidResponse,
    /// The server chose a revision that this client does not speak.
    UnsupportedVersion,
    /// The session id is not visible ASCII.
    InvalidId,
}

/// Returns the `initialize` request with the id `id`; `client_info` is compact JSON (2025-11-25,
/// Lifecycle: Initialization).
pub fn open(id: &RequestId, client_info: Option<&str>) -> HttpRequest {
    let [latest, ..] = VERSIONS;
    HttpRequest::post(message::initialize_request(id, latest, client_info))
}

/// Returns the change that a message on a session's stream reports; `None` for every other message.
pub fn event_of(message: &[u8], limits: &Limits) -> Option<ServerEvent> {
    match Incoming::read_plain(message, limits)? {
        Incoming::Changed(event) => Some(event),
        _ => None,
    }
}

/// A message of a session, as its client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionMessage {
    Changed(ServerEvent),
    /// A request from the server, with the response to send.
    Question(String),
    /// The response to a request of the client.
    Response {
        id: RequestId,
        is_result: bool,
    },
    /// Not JSON, or an update without a readable URI: it may have been any change.
    Malformed,
    Nothing,
}

/// Classifies a message of a session. A ping gets a response; the client has offered the server
/// nothing else to call (2025-11-25, Ping, Lifecycle: Capability Negotiation).
pub(crate) fn read_message(message: &[u8], limits: &Limits) -> SessionMessage {
    match Incoming::read_plain(message, limits) {
        Some(Incoming::Changed(event)) => return SessionMessage::Changed(event),
        Some(Incoming::Malformed) => return SessionMessage::Malformed,
        _ => {}
    }
    let Ok(document) = json::read(message, json::MAX_PEER_DEPTH) else {
        return SessionMessage::Malformed;
    };
    let root = &document.root;
    let id = root.get("id");
    let Some(id) = id.and_then(|id| RequestId::from_node(id, limits.id_bytes)) else {
        return SessionMessage::Nothing;
    };
    match root.get("method").map(Node::as_str) {
        None => SessionMessage::Response {
            id,
            is_result: root.get("result").is_some(),
        },
        Some(Some(PING)) => SessionMessage::Question(message::result(&id, "{}")),
        Some(Some(_)) => SessionMessage::Question(message::method_not_found(&id)),
        Some(None) => SessionMessage::Nothing,
    }
}

/// Whether the response to a request, a JSON body or an event stream, is a result; `None` if it is
/// neither that nor an error.
pub(crate) fn is_accepted(body: &[u8]) -> Option<bool> {
    sse::messages(body).iter().find_map(|message| {
        let document = json::read(message, json::MAX_PEER_DEPTH).ok()?;
        let is_result = document.root.get("result").is_some();
        (is_result || document.root.get("error").is_some()).then_some(is_result)
    })
}

impl ClientSession {
    /// Reads the response to `initialize`, a JSON body or an event stream.
    ///
    /// # Errors
    /// A [`SessionError`] that says why there is no session.
    pub fn from_response(
        status: u16,
        headers: &Headers<'_>,
        body: &[u8],
    ) -> Result<Self, SessionError> {
        let messages = sse::messages(body);
        let mut messages = messages.iter();
        match messages.find_map(|message| InitializeResponse::read(message)) {
            Some(InitializeResponse::Result(version, capabilities)) if is_success(status) => {
                Self::new(headers, &version, capabilities)
            }
            Some(InitializeResponse::Error(code, text)) => Err(refused(status, Some(code), text)),
            _ if is_success(status) => Err(SessionError::InvalidResponse),
            _ => Err(refused(status, None, String::new())),
        }
    }

    /// Creates the state of a session that another component has begun on a channel.
    pub(crate) fn joined(capabilities: Capabilities) -> Self {
        let [latest, ..] = VERSIONS;
        Self {
            id: None,
            version: latest,
            capabilities,
        }
    }

    /// Creates a POST of a message within the session.
    pub(crate) fn post(&self, message: String) -> HttpRequest {
        self.add_to(HttpRequest::post(message))
    }

    /// Returns the notification that follows the response to `initialize`.
    pub fn initialized(&self) -> HttpRequest {
        self.add_to(HttpRequest::post(message::initialized()))
    }

    /// Returns the request that opens the session's stream after the event `last_event_id`
    /// (2025-11-25, Transports: Listening for Messages from the Server, Resumability). Omits an id
    /// that a header field cannot carry.
    pub fn stream(&self, last_event_id: Option<&str>) -> HttpRequest {
        let mut request = HttpRequest::bare("GET");
        request.add("Accept", "text/event-stream");
        if let Some(id) = last_event_id.filter(|id| is_visible(id)) {
            request.add("Last-Event-ID", id);
        }
        self.add_to(request)
    }

    /// Returns the `resources/subscribe` request with the id `id`.
    pub fn subscribe(&self, id: &RequestId, uri: &str) -> HttpRequest {
        self.add_to(HttpRequest::post(message::resource_request(
            id, SUBSCRIBE, uri,
        )))
    }

    /// Returns the `resources/unsubscribe` request with the id `id`.
    pub fn unsubscribe(&self, id: &RequestId, uri: &str) -> HttpRequest {
        self.add_to(HttpRequest::post(message::resource_request(
            id,
            UNSUBSCRIBE,
            uri,
        )))
    }

    /// Returns the request that ends the session; `None` if the server assigned no id.
    pub fn end(&self) -> Option<HttpRequest> {
        self.id.as_ref()?;
        Some(self.add_to(HttpRequest::bare("DELETE")))
    }

    /// Whether the body of a response with status 400 says that the server does not know the
    /// session, rather than anything about the resource `uri`. The status for that is 404
    /// (2025-11-25, Transports: Session Management). Servers with the official Python SDK of 2025,
    /// and those that follow the examples of the TypeScript SDK, respond with 400 and a text. If
    /// the URI contains such a word itself, the text may be about the resource.
    pub(crate) fn is_unknown_in(&self, body: &[u8], uri: &str) -> bool {
        if self.id.is_none() || names_session(uri.as_bytes()) {
            return false;
        }
        let error = RpcError::read(body);
        let is_of_request = error.is_some_and(|error| {
            // The method, the parameters, the resource.
            matches!(error.code, -32_601 | -32_602 | -32_002)
        });
        !is_of_request && names_session(body)
    }

    fn new(
        headers: &Headers<'_>,
        version: &str,
        capabilities: Capabilities,
    ) -> Result<Self, SessionError> {
        let version = VERSIONS.into_iter().find(|known| *known == version);
        let id = headers.get(SESSION);
        if id.is_some_and(|id| !is_visible(id)) {
            return Err(SessionError::InvalidId);
        }
        Ok(Self {
            id: id.map(Into::into),
            version: version.ok_or(SessionError::UnsupportedVersion)?,
            capabilities,
        })
    }

    /// Adds the session's header fields. The earliest revision does not define the version header,
    /// and ignores it (2025-11-25, Transports: Session Management, Protocol Version Header).
    fn add_to(&self, mut request: HttpRequest) -> HttpRequest {
        if let Some(id) = &self.id {
            request.add(SESSION, id);
        }
        request.add(VERSION, self.version);
        request
    }
}

enum InitializeResponse {
    Result(String, Capabilities),
    Error(i32, String),
}

impl InitializeResponse {
    fn read(message: &[u8]) -> Option<Self> {
        if let Some(RpcError { code, text, .. }) = RpcError::read(message) {
            return Some(Self::Error(code, text));
        }
        let document = json::read(message, json::MAX_PEER_DEPTH).ok()?;
        let result = document.root.get("result")?;
        let version = result.get("protocolVersion").and_then(Node::as_str)?;
        let capabilities = Capabilities {
            // Changes of the list of event types come with `subscriptions/listen` only.
            events_list_changed: false,
            ..Capabilities::from_node(result.get("capabilities")?)
        };
        Some(Self::Result(version.to_owned(), capabilities))
    }
}

fn refused(status: u16, code: Option<i32>, text: String) -> SessionError {
    SessionError::Refused(Refusal { status, code, text })
}

fn names_session(text: &[u8]) -> bool {
    let contains = |sign: &&[u8]| {
        let mut parts = text.windows(sign.len());
        parts.any(|part| part.eq_ignore_ascii_case(sign))
    };
    UNKNOWN_SESSION.iter().any(contains)
}

fn is_visible(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

impl SessionError {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::InvalidResponse => "invalid-response",
            Self::UnsupportedVersion => "unsupported-version",
            Self::InvalidId => "invalid-session-id",
        }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Refused(_) => "the server refused the session",
            Self::InvalidResponse => "the response does not belong to initialize",
            Self::UnsupportedVersion => "the server chose an unsupported version",
            Self::InvalidId => "the session id is not visible ASCII",
        })
    }
}

impl core::error::Error for SessionError {}

/// Parts of the texts with which servers refuse an unknown session.
const UNKNOWN_SESSION: [&[u8]; 2] = [b"session", b"not initialized"];
const PING: &str = "ping";
const SESSION: &str = "Mcp-Session-Id";
