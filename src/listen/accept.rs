use crate::{
    clock::Millis,
    http::Headers,
    json::{self, Document, Node},
    message::{LISTEN, PROTOCOL_VERSION},
    request,
    vocabulary::{
        capabilities::Discovered,
        error::{Reason, Rejection},
        filter::SubscriptionFilter,
        id::RequestId,
        limits::Limits,
    },
};

use super::{
    params,
    stream::{ServerStream, StreamKind},
};

/// The outcome for a listen request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListenOutcome {
    /// A request that can be served.
    Accepted(Accepted),
    /// A request that gets an error.
    Rejected(Rejection),
}

/// The outcome for a request before its caller is authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Classified {
    /// A listen request by its header fields: [`validate`] continues with the body, which has not
    /// been read.
    Unread,
    /// A listen request by its body, which had to be read to know, with its outcome.
    Read(ListenOutcome),
    /// A listen request that is refused by its HTTP headers and size alone, for any caller.
    Rejected(Rejection),
    /// Anything else: pass it on to the MCP server.
    PassThrough,
}

/// A well-formed listen request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accepted {
    /// The request's id, which becomes the subscription id.
    pub id: RequestId,
    /// The filter that the client requests.
    pub requested: SubscriptionFilter,
}

impl Accepted {
    /// Creates the stream of this request. It honors what the server advertises and, if
    /// the caller's rights are known, what `authorized` names too. Keep-alives are as in
    /// [`ServerStream::new`].
    pub fn open(
        &self,
        discovered: &Discovered,
        authorized: Option<&SubscriptionFilter>,
        keep_alive: impl Into<Millis>,
        now: Millis,
    ) -> ServerStream {
        let (kind, requested) = (StreamKind::Listen(self.id.clone()), &self.requested);
        let keep_alive = keep_alive.into();
        stream_of(kind, requested, discovered, authorized, keep_alive, now)
    }
}

/// Creates a stream of any kind for a requested filter; otherwise as [`Accepted::open`].
pub(crate) fn stream_of(
    kind: StreamKind,
    requested: &SubscriptionFilter,
    discovered: &Discovered,
    authorized: Option<&SubscriptionFilter>,
    keep_alive: Millis,
    now: Millis,
) -> ServerStream {
    let honored = requested.honored(discovered.capabilities, authorized);
    ServerStream::with_kind(kind, honored, keep_alive, now)
        .with_server_info(discovered.server_info.clone())
}

/// Whether the request may be a listen; every other request is [`Classified::PassThrough`], without
/// reading its body.
pub fn may_be_listen(method: &str, headers: &Headers<'_>, limits: &Limits) -> bool {
    let is_readable = headers.declare_json() && !headers.declare_more_than(limits.body_bytes);
    method == "POST" && (is_listen_by_header(headers) || is_readable)
}

/// Classifies an HTTP request as far as HTTP alone decides it (content type, accept, size): the
/// remaining checks follow once the caller is authenticated. A body longer than `limits.body_bytes`
/// may be truncated anywhere beyond that, or omitted if `Content-Length` declares it. If
/// [`is_listen_by_header`], only the length of the body matters: pass an empty body if it has not
/// been read yet.
///
/// A listen of an earlier revision, without any sign of 2026-07-28, is passed on.
pub fn classify(method: &str, headers: &Headers<'_>, body: &[u8], limits: &Limits) -> Classified {
    if !may_be_listen(method, headers, limits) {
        return Classified::PassThrough;
    }
    let is_whole = body.len() <= limits.body_bytes && !headers.declare_more_than(limits.body_bytes);
    let checked = check_http(headers, is_whole);
    if is_listen_by_header(headers) {
        return match checked {
            Ok(()) => Classified::Unread,
            Err(reason) => Classified::Rejected(Rejection::new(reason, None)),
        };
    }
    let document = is_whole
        .then(|| json::read(body, limits.depth).ok())
        .flatten();
    let read = document.as_ref();
    if !read.is_some_and(|read| is_listen_by_body(headers, read)) {
        return Classified::PassThrough;
    }
    match (checked, read) {
        (Ok(()), Some(read)) => Classified::Read(validate_document(headers, read, limits)),
        (Ok(()), None) => Classified::PassThrough,
        (Err(reason), _) => {
            let id = read.and_then(|read| request::id_of(read, limits));
            Classified::Rejected(Rejection::new(reason, id))
        }
    }
}

/// Validates the body of a request that is [`Classified::Unread`]. The checks run in a fixed order
/// (JSON, shape, headers against body, `_meta`, version, filter, extensions), and the first failure
/// is returned.
pub fn validate(headers: &Headers<'_>, body: &[u8], limits: &Limits) -> ListenOutcome {
    match json::read(body, limits.depth) {
        Ok(document) => validate_document(headers, &document, limits),
        Err(_) => ListenOutcome::Rejected(Rejection::new(Reason::ParseError, None)),
    }
}

/// Validates a listen request on a transport without headers. `is_whole` is false if the request is
/// larger than allowed.
pub(crate) fn accept_message(
    document: &Document<'_>,
    is_whole: bool,
    limits: &Limits,
) -> ListenOutcome {
    let id = request::id_of(document, limits);
    let checked = if is_whole {
        check_message(document, id.as_ref(), limits, |_| Ok(()))
    } else {
        Err(Reason::BodyTooLarge)
    };
    outcome(checked, id)
}

fn check_http(headers: &Headers<'_>, is_whole: bool) -> Result<(), Reason> {
    if !headers.declare_json() {
        Err(Reason::UnsupportedMediaType)
    } else if !headers.accept_event_stream() {
        Err(Reason::NotAcceptable)
    } else if !is_whole {
        Err(Reason::BodyTooLarge)
    } else {
        Ok(())
    }
}

fn validate_document(
    headers: &Headers<'_>,
    document: &Document<'_>,
    limits: &Limits,
) -> ListenOutcome {
    let id = request::id_of(document, limits);
    let checked = check_message(document, id.as_ref(), limits, |root| {
        request::check_headers(headers, root)
    });
    outcome(checked, id)
}

fn outcome(checked: Result<Accepted, Reason>, id: Option<RequestId>) -> ListenOutcome {
    match checked {
        Ok(accepted) => ListenOutcome::Accepted(accepted),
        Err(reason) => ListenOutcome::Rejected(Rejection::new(reason, id)),
    }
}

/// Runs the checks of every transport; `check_routing` is the check specific to one.
fn check_message(
    document: &Document<'_>,
    id: Option<&RequestId>,
    limits: &Limits,
    check_routing: impl FnOnce(&Node<'_>) -> Result<(), Reason>,
) -> Result<Accepted, Reason> {
    request::check_shape(document, id.is_some())?;
    check_routing(&document.root)?;
    request::check_meta(&document.root)?;
    let requested = params::filter_of(&document.root, limits)?;
    params::check_extensions(&document.root, &requested)?;
    let id = id.cloned().ok_or(Reason::InvalidRequest("id is missing"))?;
    Ok(Accepted { id, requested })
}

/// Whether the header fields alone identify a listen request, so that [`classify`] does not need
/// its body.
pub fn is_listen_by_header(headers: &Headers<'_>) -> bool {
    headers.get("mcp-method") == Some(LISTEN)
}

/// Whether the header fields or the body identify a listen request.
pub(crate) fn is_listen(headers: &Headers<'_>, document: Option<&Document<'_>>) -> bool {
    is_listen_by_header(headers) || document.is_some_and(|read| is_listen_by_body(headers, read))
}

/// Whether the body identifies a listen request of this revision or later. Revisions are dates, so
/// later ones sort after earlier ones.
fn is_listen_by_body(headers: &Headers<'_>, document: &Document<'_>) -> bool {
    let is_modern = request::version_of(&document.root).is_some()
        || headers.get("mcp-method").is_some()
        || headers
            .get("mcp-protocol-version")
            .is_some_and(|version| version >= PROTOCOL_VERSION);
    request::names_method(&document.root, LISTEN) && is_modern
}
