use alloc::boxed::Box;

use crate::{
    http::Headers,
    json::{self, Document, Node},
    message::{META_PROTOCOL_VERSION, PROTOCOL_VERSION},
    request::id_of,
    vocabulary::{
        error::{Reason, Rejection},
        id::RequestId,
        limits::Limits,
        name::NameError,
        uri::Uri,
    },
};

use super::VERSIONS;

/// The outcome for a request where sessions are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LegacyOutcome {
    /// A request of an earlier revision.
    Legacy(LegacyRequest),
    /// A request that no session can serve. Unless [`Reason::is_transport_level`], the rejection
    /// is sent once the caller has been authenticated.
    Rejected(Rejection),
    /// Anything else: pass it on to the MCP server.
    PassThrough,
}

/// A request of an earlier revision.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LegacyRequest {
    /// The `Mcp-Session-Id` header.
    pub session: Option<Box<str>>,
    /// The JSON-RPC id, if there is one.
    pub id: Option<RequestId>,
    /// The protocol version that it names or, if it names none, the one to assume (2025-11-25,
    /// Transports: Protocol Version Header).
    pub version: Box<str>,
    /// The method that it calls.
    pub call: LegacyCall,
}

/// The method of a request of an earlier revision.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LegacyCall {
    /// `initialize`: begins a session.
    Initialize,
    /// `notifications/initialized`: the client starts to use the session.
    Initialized,
    /// `ping`
    Ping,
    /// `resources/subscribe`
    Subscribe(Uri),
    /// `resources/unsubscribe`
    Unsubscribe(Uri),
    /// One of the two above, with invalid parameters.
    Invalid(Reason),
    /// GET: opens the session's stream, after the event in `Last-Event-ID`.
    Open {
        /// The last event that the client has received.
        last_event_id: Option<Box<str>>,
    },
    /// DELETE: ends the session.
    End,
    /// Any other method, which the MCP server serves.
    Other,
}

impl LegacyRequest {
    /// Whether the request concerns sessions, so that its caller has to be authenticated; the MCP
    /// server serves all others.
    pub fn is_of_sessions(&self) -> bool {
        self.session.is_some() || self.call == LegacyCall::Initialize || self.call.needs_session()
    }
}

impl LegacyCall {
    /// Whether only a session can serve it.
    pub fn needs_session(&self) -> bool {
        matches!(
            self,
            Self::Subscribe(_)
                | Self::Unsubscribe(_)
                | Self::Invalid(_)
                | Self::Open { .. }
                | Self::End
        )
    }
}

/// Classifies a request that is not a listen; a body longer than `limits.body_bytes` may be
/// truncated.
///
/// A request with the envelope of 2026-07-28, or with its version in the header and no session, is
/// passed on, whatever its method. Every other request that names a session is handled here,
/// whatever its method and media type: only this server knows whether that session belongs to its
/// caller.
pub fn classify(
    method: &str,
    headers: &Headers<'_>,
    body: &[u8],
    limits: &Limits,
) -> LegacyOutcome {
    let session: Option<Box<str>> = headers.get(SESSION).map(Into::into);
    let is_message = method == "POST" && headers.declare_json();
    if session.is_none() && !is_message {
        return LegacyOutcome::PassThrough;
    }
    let document = (is_message && body.len() <= limits.body_bytes)
        .then(|| json::read(body, limits.depth).ok())
        .flatten();
    let root = document.as_ref().map(|document| &document.root);
    let is_enveloped = root.and_then(envelope).is_some();
    let header = headers.get(VERSION_HEADER);
    if is_enveloped || (session.is_none() && header == Some(PROTOCOL_VERSION)) {
        return LegacyOutcome::PassThrough;
    }
    let id = document
        .as_ref()
        .and_then(|document| id_of(document, limits));
    match call_of(method, headers, document.as_ref(), id.as_ref(), limits) {
        Ok(call) => LegacyOutcome::Legacy(LegacyRequest {
            session,
            version: root
                .and_then(|root| root.get("params")?.get("protocolVersion")?.as_str())
                .or(header)
                .unwrap_or(ASSUMED_VERSION)
                .into(),
            id,
            call,
        }),
        Err(reason) => LegacyOutcome::Rejected(Rejection::new(reason, id)),
    }
}

fn call_of(
    method: &str,
    headers: &Headers<'_>,
    document: Option<&Document<'_>>,
    id: Option<&RequestId>,
    limits: &Limits,
) -> Result<LegacyCall, Reason> {
    if method == "GET" && !headers.name_event_stream() {
        return Err(Reason::NotAcceptable);
    }
    let call = match (method, document) {
        ("GET", _) => LegacyCall::Open {
            last_event_id: headers.get("last-event-id").map(Into::into),
        },
        ("DELETE", _) => LegacyCall::End,
        (_, Some(document)) => message_of(document, id, limits)?,
        (_, None) => LegacyCall::Other,
    };
    if call != LegacyCall::Initialize {
        check_version(headers)?;
    }
    Ok(call)
}

/// Refuses a header that names a revision without sessions; the header may be missing (2025-11-25,
/// Transports: Protocol Version Header).
fn check_version(headers: &Headers<'_>) -> Result<(), Reason> {
    let version = headers.get(VERSION_HEADER);
    if version.is_none_or(|version| VERSIONS.contains(&version)) {
        return Ok(());
    }
    Err(Reason::InvalidRequest(
        "Unsupported protocol version in the MCP-Protocol-Version header",
    ))
}

/// Reads which method a message of an earlier revision calls.
///
/// # Errors
/// A [`Reason`] if it is a batch, or calls one of our methods without being a valid request.
pub(crate) fn message_of(
    document: &Document<'_>,
    id: Option<&RequestId>,
    limits: &Limits,
) -> Result<LegacyCall, Reason> {
    let root = &document.root;
    if root.as_array().is_some() {
        return Err(Reason::InvalidRequest(
            "The body must be one message: batches are not supported",
        ));
    }
    let is_notification = root.get("id").is_none();
    let call = match root.get("method").and_then(Node::as_str) {
        Some("notifications/initialized") if is_notification => return Ok(LegacyCall::Initialized),
        Some("initialize") => LegacyCall::Initialize,
        Some("ping") => LegacyCall::Ping,
        Some("resources/subscribe") => {
            uri_in(root, limits).map_or_else(LegacyCall::Invalid, LegacyCall::Subscribe)
        }
        Some("resources/unsubscribe") => {
            uri_in(root, limits).map_or_else(LegacyCall::Invalid, LegacyCall::Unsubscribe)
        }
        _ => return Ok(LegacyCall::Other),
    };
    check_request(document, id)?;
    Ok(call)
}

fn check_request(document: &Document<'_>, id: Option<&RequestId>) -> Result<(), Reason> {
    let problem = if document.has_duplicate_key {
        "A key is named twice"
    } else if document.root.get("jsonrpc").and_then(Node::as_str) != Some("2.0") {
        "jsonrpc must be \"2.0\""
    } else if id.is_none() {
        "id must be a string or an integer"
    } else {
        return Ok(());
    };
    Err(Reason::InvalidRequest(problem))
}

fn uri_in(root: &Node<'_>, limits: &Limits) -> Result<Uri, Reason> {
    let uri = root.get("params").and_then(|params| params.get("uri"));
    let uri = uri
        .and_then(Node::as_str)
        .ok_or(Reason::InvalidParams("params.uri must be a string"))?;
    Uri::new(uri, limits.uri_bytes).map_err(|error| match error {
        NameError::TooLong => Reason::LimitExceeded {
            what: "A resource URI is too long",
            limit: limits.uri_bytes,
        },
        NameError::Empty | NameError::Control => {
            Reason::InvalidParams("A resource URI must not be empty or hold control characters")
        }
    })
}

fn envelope<'n, 'a>(root: &'n Node<'a>) -> Option<&'n Node<'a>> {
    root.get("params")?.get("_meta")?.get(META_PROTOCOL_VERSION)
}

const SESSION: &str = "mcp-session-id";
const VERSION_HEADER: &str = "mcp-protocol-version";
/// The version of a client that sends no version header.
const ASSUMED_VERSION: &str = "2025-03-26";
