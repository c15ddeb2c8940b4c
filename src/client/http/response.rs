use alloc::{borrow::ToOwned, string::String, vec::Vec};

use crate::{
    clock::Millis,
    http::Headers,
    json::{self, Node},
};

/// The media type of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Media {
    /// One JSON text.
    Json,
    /// Server-sent events.
    EventStream,
    /// Any other media type, or none declared.
    Other,
}

/// A JSON-RPC error response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RpcError {
    /// The id of its request, as JSON text; `None` if the id is missing or null.
    pub id: Option<String>,
    /// The error code.
    pub code: i32,
    /// The server's message.
    pub text: String,
    /// The versions that the server says it supports.
    pub supported: Vec<String>,
}

/// Returns the media type that these header fields declare.
pub fn media_of(headers: &Headers<'_>) -> Media {
    let declared = headers.get("content-type").unwrap_or_default();
    let media = declared.split(';').next().unwrap_or_default().trim();
    if media.eq_ignore_ascii_case("application/json") {
        Media::Json
    } else if media.eq_ignore_ascii_case("text/event-stream") {
        Media::EventStream
    } else {
        Media::Other
    }
}

impl RpcError {
    /// Reads one message. Returns `None` if it is not an error with a code.
    pub fn read(message: &[u8]) -> Option<Self> {
        let document = json::read(message, json::MAX_PEER_DEPTH).ok()?;
        let root = &document.root;
        let error = root.get("error")?;
        let id = root.get("id").map(|id| id.raw.to_owned());
        let text = error.get("message").and_then(Node::as_str);
        let supported = error.get("data").and_then(|data| data.get("supported"));
        let versions = supported.and_then(Node::as_array).unwrap_or_default();
        Some(Self {
            id: id.filter(|id| id != "null"),
            code: error.get("code")?.raw.parse().ok()?,
            text: text.unwrap_or_default().to_owned(),
            supported: versions
                .iter()
                .filter_map(|version| version.as_str().map(str::to_owned))
                .collect(),
        })
    }
}

/// Whether the status is a 2xx.
pub(crate) fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Returns the wait that `Retry-After` asks for, capped at an hour. Ignores dates: this crate does
/// not know the time of day.
pub(crate) fn retry_after(headers: &Headers<'_>) -> Option<Millis> {
    let value = headers.get("retry-after")?;
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let seconds: u64 = value.parse().unwrap_or(u64::MAX);
    is_number.then(|| bounded(Millis(seconds.saturating_mul(1_000))))
}

/// Caps the time for which a server may ask a client to stay away.
pub(crate) fn bounded(wait: Millis) -> Millis {
    wait.min(MAX_WAIT)
}

/// The longest wait that a server can ask for.
const MAX_WAIT: Millis = Millis(3_600_000);
