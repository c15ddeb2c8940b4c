//! What every message begins with: its version and its type.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::json::{self, Document, Node, Unreadable, from_node};

use super::error::ProtocolError;

/// Any JSON text.
pub(super) fn parse_text(text: &str) -> Result<Document<'_>, ProtocolError> {
    json::read(text.as_bytes(), DEPTH)
        .ok()
        .filter(|document| !document.has_duplicate_key)
        .ok_or(ProtocolError::Malformed)
}

/// A message of the version that is spoken here.
pub(super) fn parse(text: &str) -> Result<Document<'_>, ProtocolError> {
    let document = parse_text(text)?;
    match document.root.get("v").and_then(Node::as_u53) {
        Some(VERSION) => Ok(document),
        Some(_) => Err(ProtocolError::UnknownVersion),
        None => Err(ProtocolError::Malformed),
    }
}

/// A message of this type.
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

/// The members of a message.
pub(super) fn members<'n, T: Deserialize<'n>>(root: &'n Node<'_>) -> Result<T, ProtocolError> {
    from_node(root).map_err(|Unreadable| ProtocolError::Malformed)
}

/// A message with these members.
pub(super) fn message(kind: &str, members: &impl Serialize) -> String {
    let mut out = bare(kind);
    let members = json::to_text(members);
    // The members of an object without its first brace.
    if let Some(rest) = members.get(1..).filter(|rest| *rest != "}") {
        out.pop();
        out.push(',');
        out.push_str(rest);
    }
    out
}

/// A message without members.
pub(super) fn bare(kind: &str) -> String {
    let mut out = String::from("{\"v\":1,\"type\":\"");
    out.push_str(kind);
    out.push_str("\"}");
    out
}

const VERSION: u64 = 1;
/// An event, which nests up to 64 deep, stands in an object, in a list, in the message.
const DEPTH: usize = 67;
