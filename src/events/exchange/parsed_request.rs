//! Whether a request is about events, and whether it is well-formed.

use alloc::boxed::Box;

use crate::{
    http::Headers,
    json::{self, Document, Node, Object},
    message::PROTOCOL_VERSION,
    request::{check_headers, check_meta, check_shape, id_of, version_of},
    vocabulary::{error::Reason, id::RequestId, limits::Limits},
};

use super::{
    EventService,
    request::{EventCall, Method, PREFIX, STREAM, declares},
    step::Problem,
};

/// A request about events.
#[derive(Clone, Debug)]
pub(super) struct ParsedRequest {
    /// Its id, if it has a usable one.
    pub(super) id: Option<RequestId>,
    /// Whether the client declares the extension.
    pub(super) declares: bool,
    /// What it asks for, or why it is refused.
    pub(super) call: Result<Box<EventCall>, Problem>,
}

impl ParsedRequest {
    fn rejected(reason: Reason) -> Self {
        Self {
            id: None,
            declares: false,
            call: Err(reason.into()),
        }
    }
}

/// Checks the header fields; `None` if they do not name a method of events.
pub(super) fn by_header(headers: &Headers<'_>, limits: &Limits) -> Option<Result<(), Reason>> {
    let method = headers.get("mcp-method")?;
    method.starts_with(PREFIX).then(|| {
        if !headers.declare_json() {
            Err(Reason::UnsupportedMediaType)
        } else if method == STREAM && !headers.accept_event_stream() {
            Err(Reason::NotAcceptable)
        } else if headers.declare_more_than(limits.body_bytes) {
            Err(Reason::BodyTooLarge)
        } else {
            Ok(())
        }
    })
}

/// Whether the body may name a method of events.
pub(super) fn is_readable(headers: &Headers<'_>, limits: &Limits) -> bool {
    headers.declare_json() && !headers.declare_more_than(limits.body_bytes)
}

/// Parses a body; `None` if the request is not about events. `is_ours`: its header fields say that
/// it is.
pub(super) fn parse(
    service: &EventService,
    headers: &Headers<'_>,
    body: &[u8],
    is_ours: bool,
) -> Option<ParsedRequest> {
    let limits = &service.settings().limits;
    if body.len() > limits.body_bytes {
        return is_ours.then(|| ParsedRequest::rejected(Reason::BodyTooLarge));
    }
    let Ok(document) = json::read(body, limits.depth) else {
        return is_ours.then(|| ParsedRequest::rejected(Reason::ParseError));
    };
    let is_modern = is_modern(headers, &document.root);
    let is_served = is_modern || is_legacy(service, &document.root);
    let is_about_events = is_ours || (names_events(&document.root) && is_served);
    if !is_about_events {
        return None;
    }
    let id = id_of(&document, limits);
    let headers = is_modern.then_some(headers);
    let call = check(service, headers, &document, id.is_some());
    Some(ParsedRequest {
        id,
        declares: declares(&document.root),
        call: call.map(Box::new),
    })
}

/// `headers` are those of a request of 2026-07-28 or later.
fn check(
    service: &EventService,
    headers: Option<&Headers<'_>>,
    document: &Document<'_>,
    has_id: bool,
) -> Result<EventCall, Problem> {
    let root = &document.root;
    check_shape(document, has_id)?;
    if let Some(headers) = headers {
        check_headers(headers, root)?;
        check_meta(root)?;
    }
    let method = method_of(root).filter(|method| service.serves(*method));
    let method = method.ok_or(Reason::MethodNotFound)?;
    if method == Method::Stream && headers.is_some_and(|headers| !headers.accept_event_stream()) {
        return Err(Reason::NotAcceptable.into());
    }
    Ok(EventCall::read(method, root.get("params"))?)
}

/// Whether the request shows any sign of 2026-07-28 or later. Revisions are dates, so later ones
/// sort after earlier ones.
fn is_modern(headers: &Headers<'_>, root: &Node<'_>) -> bool {
    let version = headers.get("mcp-protocol-version");
    version_of(root).is_some()
        || headers.get("mcp-method").is_some()
        || version.is_some_and(|version| version >= PROTOCOL_VERSION)
}

/// Whether the request is one that is served in earlier revisions.
fn is_legacy(service: &EventService, root: &Node<'_>) -> bool {
    let method = method_of(root);
    let is_short = !matches!(method, None | Some(Method::Poll | Method::Stream));
    service.settings().legacy && is_short
}

/// Whether the body names a method of events. A body that names several methods counts for each,
/// because parsers differ in which one they use.
fn names_events(root: &Node<'_>) -> bool {
    let members = root.as_object().into_iter().flat_map(Object::iter);
    let mut methods = members.filter(|(name, _)| *name == "method");
    methods.any(|(_, node)| node.as_str().is_some_and(|name| name.starts_with(PREFIX)))
}

fn method_of(root: &Node<'_>) -> Option<Method> {
    Method::from_name(root.get("method")?.as_str()?)
}
