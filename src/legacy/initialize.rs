use alloc::{borrow::ToOwned, string::String, vec};

use crate::{
    json::{self, Node},
    message,
    offer::{merged, object},
    sse,
    vocabulary::{capabilities::Capabilities, id::RequestId},
};

use super::VERSIONS;

/// The response to an `initialize` request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Initialized {
    /// The JSON-RPC message.
    pub response: String,
    /// The notifications that the response advertises.
    pub capabilities: Capabilities,
}

/// Returns the revision of a session whose client asked for `requested`: that one or, if sessions
/// do not support it, the latest (2025-11-25, Lifecycle: Version Negotiation).
pub fn negotiate(requested: &str) -> &'static str {
    let [latest, ..] = VERSIONS;
    let mut versions = VERSIONS.into_iter();
    versions
        .find(|version| *version == requested)
        .unwrap_or(latest)
}

/// Derives the response to the request `id` from that of the MCP server, a JSON body or an event
/// stream. Name, instructions and capabilities are taken over, except for the capabilities that
/// concern notifications, which `known` replaces. Returns `None` if it contains no result.
pub fn initialized(
    id: &RequestId,
    body: &[u8],
    known: Option<Capabilities>,
) -> Option<Initialized> {
    let messages = sse::messages(body);
    let mut messages = messages.iter();
    messages.find_map(|message| from_message(id, message, known, spoken))
}

/// As [`initialized`], for an MCP server that stays with its client, whatever revision
/// they agree on: `line` is its response.
pub(crate) fn agreed(
    id: &RequestId,
    line: &[u8],
    known: Option<Capabilities>,
) -> Option<Initialized> {
    from_message(id, line, known, |version| Some(json::to_compact(version)))
}

/// Returns a version that sessions support, as JSON text.
fn spoken(version: &Node<'_>) -> Option<String> {
    let version = negotiate(version.as_str()?);
    Some(format!("\"{version}\""))
}

/// `version_of` derives the version of the response, as JSON text, from that of the MCP server.
fn from_message(
    id: &RequestId,
    text: &[u8],
    known: Option<Capabilities>,
    version_of: fn(&Node<'_>) -> Option<String>,
) -> Option<Initialized> {
    let document = json::read(text, json::MAX_PEER_DEPTH).ok()?;
    let result = document.root.get("result")?;
    let offered = result.get("capabilities")?;
    let capabilities = known.unwrap_or_else(|| Capabilities::from_node(offered));
    let version = version_of(result.get("protocolVersion")?)?;
    let mut members = vec![
        (String::from("protocolVersion"), version),
        (String::from("capabilities"), merged(offered, capabilities)),
    ];
    let own = result.as_object()?.iter();
    members.extend(
        own.filter(|(name, _)| !["protocolVersion", "capabilities"].contains(name))
            .map(|(name, node)| (name.to_owned(), json::to_compact(node))),
    );
    Some(Initialized {
        response: message::result(id, &object(&members)),
        capabilities,
    })
}
