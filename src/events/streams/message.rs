//! The JSON-RPC messages of events (SEP-3415, Push-Based Delivery, Event Occurrences).

use alloc::{borrow::ToOwned, string::String};

use crate::{
    events::{cursor, name::EventName, page::PageEvent},
    json,
    message::{around, listen_result},
    vocabulary::{id::RequestId, position::Cursor},
};

/// Returns `notifications/events/active`: where the stream begins, and whether something is lost.
pub(super) fn active(id: &RequestId, cursor: &Cursor, truncated: bool) -> String {
    let cursor = cursor_json(cursor);
    let params = format!(",\"cursor\":{cursor},\"truncated\":{truncated}");
    with_id(id, &around("notifications/events/active", &params))
}

/// Returns what precedes and follows the subscription's id in `notifications/events/event`: it is
/// the same for every stream.
pub(super) fn around_event(
    name: &EventName,
    event: &PageEvent,
    data: &str,
    cursor: &Cursor,
) -> (String, String) {
    let occurrence = occurrence(name, event, data);
    let cursor = cursor_json(cursor);
    let params = format!(",{occurrence},\"cursor\":{cursor}");
    around("notifications/events/event", &params)
}

/// Returns `notifications/events/heartbeat`: everything up to the cursor was sent.
pub(super) fn heartbeat(id: &RequestId, cursor: &Cursor) -> String {
    let params = format!(",\"cursor\":{}", cursor_json(cursor));
    with_id(id, &around("notifications/events/heartbeat", &params))
}

/// Returns what precedes and follows the subscription's id in `notifications/events/error`, after
/// which the stream goes on; `error` is a JSON-RPC error object.
pub(super) fn around_error(error: &str) -> (String, String) {
    around("notifications/events/error", &format!(",\"error\":{error}"))
}

/// Returns `notifications/events/terminated`, which ends a subscription; `error` is a JSON-RPC
/// error object.
pub(super) fn terminated(id: &RequestId, error: &str) -> String {
    let params = format!(",\"error\":{error}");
    with_id(id, &around("notifications/events/terminated", &params))
}

/// Returns the response to the request, after which the server closes the stream.
pub(super) fn result(id: &RequestId) -> String {
    listen_result(id, None)
}

/// Returns the error response to a request; `error` is a JSON-RPC error object.
pub(crate) fn error_response(id: Option<&RequestId>, error: &str) -> String {
    let id = id.map_or_else(String::new, |id| format!("\"id\":{id},"));
    format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{error}}}")
}

/// Returns the members of an occurrence with this payload, without braces.
pub(crate) fn occurrence(name: &EventName, event: &PageEvent, data: &str) -> String {
    let mut out = String::with_capacity(data.len() + 128);
    out.push_str("\"eventId\":");
    json::push_string(&mut out, &event.event_id);
    out.push_str(",\"name\":\"");
    out.push_str(name);
    out.push_str("\",\"timestamp\":");
    json::push_string(&mut out, &event.timestamp);
    out.push_str(",\"data\":");
    out.push_str(data);
    out
}

/// Returns a cursor as JSON: null for a bus without a log, whose epoch is empty.
pub(crate) fn cursor_json(cursor: &Cursor) -> String {
    if cursor.epoch.is_empty() {
        return "null".to_owned();
    }
    format!("\"{}\"", cursor::to_text(cursor))
}

fn with_id(id: &RequestId, (before, after): &(String, String)) -> String {
    [before, id.raw(), after].concat()
}
