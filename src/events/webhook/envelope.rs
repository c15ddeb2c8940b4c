//! The bodies of messages to webhooks (SEP-3415, Webhook Delivery).

use alloc::string::String;

use crate::{events::page::PageEvent, json};

/// Returns the body for an occurrence. `data` is the payload that the subscription receives;
/// `cursor` is its watermark.
pub(super) fn event(name: &str, event: &PageEvent, data: &str, cursor: &str) -> String {
    let mut out = String::from("{\"eventId\":");
    json::push_string(&mut out, &event.event_id);
    out.push_str(",\"name\":");
    json::push_string(&mut out, name);
    out.push_str(",\"timestamp\":");
    json::push_string(&mut out, &event.timestamp);
    out.push_str(",\"data\":");
    out.push_str(data);
    out.push_str(",\"cursor\":");
    json::push_string(&mut out, cursor);
    out.push('}');
    out
}

/// Returns the body that asks an endpoint for consent.
pub(super) fn verification(challenge: &str) -> String {
    control("verification", "challenge", &quoted(challenge))
}

/// Returns the body that says that occurrences after `cursor` are not delivered.
pub(super) fn gap(cursor: &str) -> String {
    control("gap", "cursor", &quoted(cursor))
}

/// Returns the body that ends a subscription with a JSON-RPC error object.
pub(super) fn terminated(error: &str) -> String {
    control("terminated", "error", error)
}

/// Whether the body of a response returns the challenge, compared in constant time.
pub(super) fn is_echo(body: &str, challenge: &str) -> bool {
    let document = json::read(body.as_bytes(), MAX_DEPTH);
    document.is_ok_and(|document| {
        let echo = document.root.get("challenge").and_then(json::Node::as_str);
        echo.is_some_and(|echo| is_equal(echo.as_bytes(), challenge.as_bytes()))
    })
}

fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let pairs = one.iter().zip(other);
    let difference = pairs.fold(0, |difference, (one, other)| difference | (one ^ other));
    one.len() == other.len() && core::hint::black_box(difference) == 0
}

fn control(kind: &str, name: &str, value: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"{name}\":{value}}}")
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    json::push_string(&mut out, text);
    out
}

/// Maximum nesting depth of the body of a message.
const MAX_DEPTH: usize = 16;
