//! The checks that any JSON-RPC request of this revision has to pass, each with a specific refusal.

use alloc::borrow::ToOwned;

use crate::{
    http::Headers,
    json::{Document, Node, Object},
    message::{
        META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_PROTOCOL_VERSION, PROTOCOL_VERSION,
    },
    vocabulary::{error::Reason, id::RequestId, limits::Limits},
};

/// Returns the id if the body is an object with exactly one usable id.
pub(crate) fn id_of(document: &Document<'_>, limits: &Limits) -> Option<RequestId> {
    let object = document.root.as_object()?;
    let id = RequestId::from_node(object.get("id")?, limits.id_bytes)?;
    (object.count("id") == 1).then_some(id)
}

/// Checks that the body is one JSON-RPC 2.0 request (2026-07-28, Base protocol, Requests).
pub(crate) fn check_shape(document: &Document<'_>, has_id: bool) -> Result<(), Reason> {
    let Some(object) = document.root.as_object() else {
        return Err(Reason::InvalidRequest(
            "The body must be one JSON-RPC request",
        ));
    };
    let problem = if document.has_duplicate_key {
        "A key is named twice"
    } else if object.get("jsonrpc").and_then(Node::as_str) != Some("2.0") {
        "jsonrpc must be \"2.0\""
    } else if object.get("method").and_then(Node::as_str).is_none() {
        "method must be a string"
    } else if object.get("result").is_some() || object.get("error").is_some() {
        "A request has no result and no error"
    } else if !has_id {
        "id must be a string or an integer"
    } else {
        return Ok(());
    };
    Err(Reason::InvalidRequest(problem))
}

/// Checks that the routing headers match the body (2026-07-28, Streamable HTTP, Server Validation).
pub(crate) fn check_headers(headers: &Headers<'_>, root: &Node<'_>) -> Result<(), Reason> {
    let version = version_of(root).and_then(Node::as_str);
    let is_repeated = |name: &&str| headers.get(name).is_some() && headers.single(name).is_none();
    if ["mcp-protocol-version", "mcp-method"]
        .iter()
        .any(is_repeated)
    {
        return Err(Reason::HeaderMismatch("A routing header is given twice"));
    }
    let problem = match headers.get("mcp-protocol-version") {
        None => "The MCP-Protocol-Version header is missing",
        Some(header) if version.is_some_and(|version| version != header) => {
            "The MCP-Protocol-Version header does not match the body"
        }
        Some(_) => match headers.get("mcp-method") {
            None => "The Mcp-Method header is missing",
            Some(header) if root.get("method").and_then(Node::as_str) != Some(header) => {
                "The Mcp-Method header does not match the body"
            }
            Some(_) => return Ok(()),
        },
    };
    Err(Reason::HeaderMismatch(problem))
}

/// Checks the `_meta` that every request carries (2026-07-28, Base protocol, Per-request fields).
pub(crate) fn check_meta(root: &Node<'_>) -> Result<(), Reason> {
    let params = object_in(root.get("params"), "params must be an object")?;
    let meta = object_in(params.get("_meta"), "params._meta must be an object")?;
    let version = meta.get(META_PROTOCOL_VERSION).and_then(Node::as_str);
    match version {
        None => {
            return Err(Reason::InvalidParams(
                "_meta[\"io.modelcontextprotocol/protocolVersion\"] must be a string",
            ));
        }
        Some(PROTOCOL_VERSION) => {}
        Some(requested) => {
            return Err(Reason::UnsupportedVersion {
                requested: requested.to_owned(),
            });
        }
    }
    object_in(
        meta.get(META_CLIENT_CAPABILITIES),
        "_meta[\"io.modelcontextprotocol/clientCapabilities\"] must be an object",
    )?;
    match meta.get(META_CLIENT_INFO) {
        Some(info) if !is_implementation(info) => Err(Reason::InvalidParams(
            "_meta[\"io.modelcontextprotocol/clientInfo\"] must have a name and a version",
        )),
        _ => Ok(()),
    }
}

/// Whether the body calls `method`, in any revision. A body that names several methods counts for
/// each, because parsers differ in which one they use.
pub(crate) fn names_method(root: &Node<'_>, method: &str) -> bool {
    let mut members = root.as_object().into_iter().flat_map(Object::iter);
    members.any(|(key, node)| key == "method" && node.as_str() == Some(method))
}

/// Returns the protocol version that the body names, of any JSON type.
pub(crate) fn version_of<'n, 'a>(root: &'n Node<'a>) -> Option<&'n Node<'a>> {
    let meta = root.get("params")?.get("_meta")?;
    meta.get(META_PROTOCOL_VERSION)
}

fn object_in<'n, 'a>(
    node: Option<&'n Node<'a>>,
    problem: &'static str,
) -> Result<&'n Object<'a>, Reason> {
    node.and_then(Node::as_object)
        .ok_or(Reason::InvalidParams(problem))
}

fn is_implementation(node: &Node<'_>) -> bool {
    ["name", "version"]
        .iter()
        .all(|key| node.get(key).and_then(Node::as_str).is_some())
}
