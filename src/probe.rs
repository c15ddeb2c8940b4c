//! Requests with which a gateway probes its upstream server on behalf of one caller, and how to
//! read the responses.

use alloc::string::String;

use crate::{
    client::RpcError,
    json,
    legacy::VERSIONS,
    listen::Incoming,
    message, sse,
    vocabulary::{filter::SubscriptionFilter, id::RequestId, limits::Limits},
};

/// Returns the `initialize` request that finds out whether a server of an earlier revision serves
/// the caller (2025-11-25, Lifecycle: Initialization).
pub fn initialize_request() -> String {
    let [latest, ..] = VERSIONS;
    message::initialize_request(&RequestId::from_text(ID), latest, None)
}

/// Returns the listen request that finds out what of `filter` a server honors for the caller
/// (2026-07-28, Subscriptions: Opening a Stream).
pub fn listen_request(filter: &SubscriptionFilter) -> String {
    message::listen_request(&RequestId::from_text(ID), filter, None)
}

/// Returns the filter that the response to [`listen_request`] acknowledges; `None` if it
/// acknowledges none. The response is an event stream, which may be truncated anywhere after its
/// first message (2026-07-28, Subscriptions: Acknowledgment).
pub fn acknowledged(body: &[u8]) -> Option<SubscriptionFilter> {
    // The request was within the limits, and nothing beyond it will be honored.
    let limits = Limits {
        uris: usize::MAX,
        task_ids: usize::MAX,
        ..Limits::default()
    };
    let messages = sse::data(body);
    match Incoming::read(messages.first()?, &limits)? {
        (id, Incoming::Acknowledged(filter)) if id == RequestId::from_text(ID) => Some(filter),
        _ => None,
    }
}

/// Whether a response, a JSON body or an event stream, is an error for an unknown method or
/// revision.
pub fn is_unknown(body: &[u8]) -> bool {
    let messages = sse::messages(body);
    let mut errors = messages
        .iter()
        .filter_map(|message| RpcError::read(message));
    errors.any(|error| UNKNOWN.contains(&error.code))
}

/// Whether a response is an error for a request that exceeds a limit of the server.
pub fn is_over_limit(body: &[u8]) -> bool {
    let Ok(document) = json::read(body, json::MAX_PEER_DEPTH) else {
        return false;
    };
    let error = document.root.get("error");
    let limit = error
        .and_then(|error| error.get("data"))
        .and_then(|data| data.get("limit"));
    limit.is_some()
}

const ID: &str = "mcp-listen:probe";
/// Unknown method, unknown revision, and the response of the 2025 SDKs to a request without a
/// session. The codes next to the last one have other meanings.
const UNKNOWN: [i32; 3] = [-32_601, -32_022, -32_000];
