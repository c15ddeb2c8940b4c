//! Servers that hold no streams, such as on hosts that cannot: every request for one is rejected,
//! and the MCP server's capabilities are advertised without notifications.

use crate::{
    http::Headers,
    json::{self, Document},
    legacy::{self, LegacyCall},
    listen::{is_listen, may_be_listen},
    message::{DISCOVER, INITIALIZE},
    request::{id_of, names_method, version_of},
    vocabulary::{
        error::{Reason, Rejection},
        id::RequestId,
        limits::Limits,
    },
};

/// The outcome for a request while no streams are held.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OffOutcome {
    /// A listen request. It gets the status of the rejection, 404.
    Listen(Rejection),
    /// A request of an earlier revision to subscribe to a resource, or to unsubscribe. It
    /// gets status 200: such a client takes a 404 for the end of its session.
    Subscribe(Rejection),
    /// `server/discover` or `initialize`: the MCP server's response is adjusted by
    /// [`crate::offer::withhold_changes`].
    Capabilities,
    /// Anything else: pass it on to the MCP server.
    PassThrough,
}

/// Classifies a request while no streams are held; a body longer than `limits.body_bytes` may be
/// truncated anywhere beyond that.
///
/// A listen is rejected as an unknown method, whatever else is wrong with it: this matches the
/// advertised capabilities, and no official client retries it.
pub fn classify(method: &str, headers: &Headers<'_>, body: &[u8], limits: &Limits) -> OffOutcome {
    if !may_be_listen(method, headers, limits) {
        return OffOutcome::PassThrough;
    }
    let is_whole = body.len() <= limits.body_bytes;
    let document = is_whole
        .then(|| json::read(body, limits.depth).ok())
        .flatten();
    let id = document.as_ref().and_then(|read| id_of(read, limits));
    if is_listen(headers, document.as_ref()) {
        return OffOutcome::Listen(Rejection::new(Reason::MethodNotFound, id));
    }
    document.map_or(OffOutcome::PassThrough, |document| {
        of_message(&document, id, limits)
    })
}

fn of_message(document: &Document<'_>, id: Option<RequestId>, limits: &Limits) -> OffOutcome {
    let root = &document.root;
    // This includes requests that we would reject: the MCP server may be less strict.
    if names_method(root, DISCOVER) || names_method(root, INITIALIZE) {
        return OffOutcome::Capabilities;
    }
    if version_of(root).is_some() {
        return OffOutcome::PassThrough;
    }
    match legacy::message_of(document, id.as_ref(), limits) {
        Ok(LegacyCall::Subscribe(_) | LegacyCall::Unsubscribe(_) | LegacyCall::Invalid(_)) => {
            OffOutcome::Subscribe(Rejection::new(Reason::MethodNotFound, id))
        }
        _ => OffOutcome::PassThrough,
    }
}
