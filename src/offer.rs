//! Adjusts the capabilities that an MCP server advertises to what is notified about.

use alloc::{borrow::ToOwned, string::String, vec::Vec};

use crate::{
    json::{self, Node},
    sse,
    vocabulary::capabilities::Capabilities,
};

/// Returns the response to `server/discover` or `initialize`, a JSON body or an event stream, as
/// one message that advertises change notifications for every feature it offers. `None` if it
/// contains no result with capabilities.
pub fn advertise_changes(body: &[u8]) -> Option<String> {
    changed(body, Capabilities::assume_all)
}

/// Returns the same message for a server that holds no streams: it advertises no change
/// notifications and no resource subscriptions. All other members stay as they are.
pub fn withhold_changes(body: &[u8]) -> Option<String> {
    changed(body, |offered| {
        offered.as_object().map(|_| Capabilities::default())
    })
}

/// Returns a response with its capabilities replaced by those that `known` derives from them.
fn changed(body: &[u8], known: fn(&Node<'_>) -> Option<Capabilities>) -> Option<String> {
    let messages = sse::messages(body);
    let mut messages = messages.iter();
    messages.find_map(|message| changed_message(message, known))
}

fn changed_message(text: &[u8], known: fn(&Node<'_>) -> Option<Capabilities>) -> Option<String> {
    let document = json::read(text, json::MAX_PEER_DEPTH).ok()?;
    let result = document.root.get("result")?;
    let offered = result.get("capabilities")?;
    let capabilities = merged(offered, known(offered)?);
    let result = replaced(result, "capabilities", &capabilities)?;
    replaced(&document.root, "result", &result)
}

/// Returns an object with one member replaced by a value, given as JSON text.
pub(crate) fn replaced(node: &Node<'_>, name: &str, value: &str) -> Option<String> {
    let own = node.as_object()?.iter();
    let members: Vec<(String, String)> = own
        .map(|(own, node)| {
            let value = if own == name {
                value.to_owned()
            } else {
                json::to_compact(node)
            };
            (own.to_owned(), value)
        })
        .collect();
    Some(object(&members))
}

/// Merges the capabilities of the MCP server with the notifications that are supported.
pub(crate) fn merged(offered: &Node<'_>, capabilities: Capabilities) -> String {
    let notified = capabilities.features();
    let mut members = Vec::new();
    for (name, flags) in &notified {
        members.extend(feature(offered.get(name), flags).map(|text| ((*name).to_owned(), text)));
    }
    let others = offered.as_object().into_iter().flat_map(json::Object::iter);
    members.extend(
        others
            .filter(|(name, _)| notified.iter().all(|(feature, _)| feature != name))
            .map(|(name, node)| (name.to_owned(), json::to_compact(node))),
    );
    object(&members)
}

/// Returns one feature with its flags; `None` if it is neither offered nor notified about.
fn feature(offered: Option<&Node<'_>>, flags: &[(&str, bool)]) -> Option<String> {
    let is_notified = flags.iter().any(|(_, is_set)| *is_set);
    if offered.is_none() && !is_notified {
        return None;
    }
    let own = offered.and_then(Node::as_object).into_iter();
    let mut members: Vec<(String, String)> = own
        .flat_map(json::Object::iter)
        .filter(|(name, _)| flags.iter().all(|(flag, _)| flag != name))
        .map(|(name, node)| (name.to_owned(), json::to_compact(node)))
        .collect();
    let set = flags.iter().filter(|(_, is_set)| *is_set);
    members.extend(set.map(|(flag, _)| ((*flag).to_owned(), String::from("true"))));
    Some(object(&members))
}

/// Returns an object of members whose values are JSON text.
pub(crate) fn object(members: &[(String, String)]) -> String {
    let mut out = String::from("{");
    for (place, (name, value)) in members.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        json::push_string(&mut out, name);
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    out
}
