//! The envelope of every message: its version and its type.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::json::{self, Document, Node, Unreadable, from_node};

use super::error::ProtocolError;

/// Parses any JSON text without duplicate keys.
pub(super) fn parse_text(text: &str) -> Result<Document<'_>, ProtocolError> {
    json::read(text.as_bytes(), MAX_DEPTH)
        .ok()
        .filter(|document| !document.has_duplicate_key)
        .ok_or(ProtocolError::Malformed)
}

/// Parses a message of the supported version.
pub(super) fn parse(text: &str) -> Result<Document<'_>, ProtocolError> {
    let document = parse_text(text)?;
    match document.root.get("v").and_then(Node::as_u53) {
        Some(VERSION) => Ok(document),
        Some(_) => Err(ProtocolError::UnknownVersion),
        None => Err(ProtocolError::Malformed),
    }
}

/// Parses a message of this type.
pub(super) fn read<'t>(text: &'t str, kind: &str) -> Result<Document<'t>, ProtocolError> {
    let document = parse(text)?;
    if kind_of(&document.root)? == kind {
        return Ok(document);
    }
    Err(ProtocolError::UnknownType)
}

pub(super) fn kind_of<'n>(root: &'n Node<'_>) -> Result<&'n str, ProtocolError> {
    let kind = root.get("type").and_then(Node::as_str);
    kind.ok_or(ProtocolError::Malformed)
}

/// Reads the members of a message.
pub(super) fn members<'n, T: Deserialize<'n>>(root: &'n Node<'_>) -> Result<T, ProtocolError> {
    from_node(root).map_err(|Unreadable| ProtocolError::Malformed)
}

/// Returns a message with these members.
pub(super) fn message(kind: &str, members: &impl Serialize) -> String {
    let mut out = bare(kind);
    let members = json::to_text(members);
    // Appends the members without their opening brace.
    if let Some(rest) = members.get(1..).filter(|rest| *rest != "}") {
        out.pop();
        out.push(',');
        out.push_str(rest);
    }
    out
}

/// Returns a message without members.
pub(super) fn bare(kind: &str) -> String {
    let mut out = String::from("{\"v\":1,\"type\":\"");
    out.push_str(kind);
    out.push_str("\"}");
    out
}

/// The version in each message of the wire.
const VERSION: u64 = 1;
/// The maximum depth: an event nests up to 64 deep, inside an object, a list and the message.
const MAX_DEPTH: usize = 67;
