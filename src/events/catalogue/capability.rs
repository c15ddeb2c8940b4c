use alloc::{borrow::ToOwned, string::String, vec::Vec};

use crate::{
    events::EXTENSION,
    json::{self, Node},
    offer::{object, replaced},
    sse,
};

/// Returns the settings of a server that offers events, a JSON object (SEP-3415, Capability
/// Negotiation).
pub fn capability(list_changed: bool) -> &'static str {
    if list_changed {
        "{\"listChanged\":true}"
    } else {
        "{}"
    }
}

/// Returns the response to `server/discover` or `initialize`, a JSON body or an event stream, as
/// one message that offers events with these settings: as an extension and, for clients of earlier
/// drafts, as the capability `events`. `None` if it has no result with capabilities.
pub fn advertised(body: &[u8], settings: &str) -> Option<String> {
    let messages = sse::messages(body);
    let mut messages = messages.iter();
    messages.find_map(|message| in_message(message, settings))
}

fn in_message(text: &[u8], settings: &str) -> Option<String> {
    let document = json::read(text, super::MAX_DEPTH).ok()?;
    let result = document.root.get("result")?;
    let offered = result.get("capabilities")?;
    offered.as_object()?;
    let extensions = with(offered.get("extensions"), &[(EXTENSION, settings)]);
    let capabilities = with(
        Some(offered),
        &[("extensions", &extensions), ("events", settings)],
    );
    let result = replaced(result, "capabilities", &capabilities)?;
    replaced(&document.root, "result", &result)
}

/// Returns an object with these members, which replace its own of the same names.
fn with(node: Option<&Node<'_>>, added: &[(&str, &str)]) -> String {
    let own = node.and_then(Node::as_object).into_iter();
    let own = own.flat_map(json::Object::iter);
    let own = own.filter(|(name, _)| added.iter().all(|(added, _)| added != name));
    let mut members: Vec<(String, String)> = own
        .map(|(name, node)| (name.to_owned(), json::to_compact(node)))
        .collect();
    let added = added.iter();
    members.extend(added.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    object(&members)
}
