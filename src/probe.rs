//! What a gateway asks the server behind it on behalf of one caller, and what the answers say.

use alloc::string::String;

use crate::{
    client::RpcError,
    legacy::VERSIONS,
    listen::Incoming,
    message, sse,
    vocabulary::{filter::SubscriptionFilter, id::RequestId, limits::Limits},
};

/// The `initialize` request that asks a server of an earlier revision whether it serves the caller
/// (2025-11-25, Lifecycle: Initialization).
pub fn initialize_request() -> String {
    let [latest, ..] = VERSIONS;
    message::initialize_request(&RequestId::from_text(ID), latest, None)
}

/// The listen request that asks what of `filter` a server honors for the caller
/// (2026-07-28, Subscriptions: Opening a Stream).
pub fn listen_request(filter: &SubscriptionFilter) -> String {
    message::listen_request(&RequestId::from_text(ID), filter, None)
}

/// The filter that the answer to [`listen_request`] acknowledges; `None` where it acknowledges none.
/// The answer is an event stream, which may be cut off anywhere after its first message
/// (2026-07-28, Subscriptions: Acknowledgment).
pub fn acknowledged(body: &[u8]) -> Option<SubscriptionFilter> {
    // What was requested is within the limits, and nothing beyond it will be honored.
    let limits = Limits {
        uris: usize::MAX,
        task_ids: usize::MAX,
        ..Limits::default()
    };
    // The end may be in the middle of a character.
    let text = String::from_utf8_lossy(body);
    let messages = sse::data(&text);
    match Incoming::read(messages.first()?.as_bytes(), &limits)? {
        (id, Incoming::Acknowledged(filter)) if id == RequestId::from_text(ID) => Some(filter),
        _ => None,
    }
}

/// Whether an answer, a JSON body or an event stream, is an error "no such method or revision".
pub fn is_unknown(body: &[u8]) -> bool {
    let says_so =
        |message: &[u8]| RpcError::read(message).is_some_and(|error| UNKNOWN.contains(&error.code));
    let messages = || sse::data(core::str::from_utf8(body).unwrap_or_default());
    says_so(body) || messages().iter().any(|message| says_so(message.as_bytes()))
}

const ID: &str = "mcp-listen:probe";
/// No such method, no such revision, and what the SDKs of 2025 answer to a request without a session.
/// The codes beside the last one have other meanings.
const UNKNOWN: [i32; 3] = [-32_601, -32_022, -32_000];
