use wasm_bindgen::prelude::*;

use crate::{
    bus::{Attach, BusMessage, EdgeMessage, Interest},
    event::ServerEvent,
    legacy::event_id,
    uri::Uri,
};

use super::error::coded;

/// The event as compact JSON text; throws with a `code` where it is none.
#[wasm_bindgen(js_name = normalizeEvent)]
pub fn normalize_event(event: &str) -> Result<String, JsValue> {
    event_of(event).map(|event| event.to_json())
}

/// Whether events, each a line of compact JSON text, may be published again where it is not known whether they were; a line
/// that is no event may not.
#[wasm_bindgen(js_name = areRepeatable)]
pub fn are_repeatable(events: &str) -> bool {
    let mut events = events.lines().map(ServerEvent::from_json);
    events.all(|event| event.is_ok_and(|event| event.is_repeatable()))
}

/// The frame with which an edge registers; `interest` is the JSON text of a filter, or
/// `"everything"`. Where it holds the stream of a `session`, `since` is the last event id heard.
#[wasm_bindgen(js_name = attachMessage)]
pub fn attach_message(
    interest: &str,
    session: Option<String>,
    since: Option<String>,
) -> Result<String, JsValue> {
    let interest =
        Interest::from_json(interest).map_err(|error| coded(error.code(), &error.to_string()))?;
    Ok(EdgeMessage::Attach(Attach {
        session: session.map(Into::into),
        since: since.and_then(|id| event_id::read(&id)),
        ..Attach::new(interest)
    })
    .to_json())
}

/// The frame with which an edge takes its leave.
#[wasm_bindgen(js_name = detachMessage)]
pub fn detach_message() -> String {
    EdgeMessage::Detach.to_json()
}

/// The event in a bus frame as JSON text; undefined where the frame carries none.
#[wasm_bindgen(js_name = eventIn)]
pub fn event_in(message: &str) -> Option<String> {
    match BusMessage::from_json(message) {
        Ok(BusMessage::Event { event, .. }) => Some(event.to_json()),
        _ => None,
    }
}

pub(super) fn event_of(text: &str) -> Result<ServerEvent, JsValue> {
    ServerEvent::from_json(text).map_err(|error| coded(error.code(), &error.to_string()))
}

/// The URIs among these texts; what is none watches nothing.
pub(super) fn uris_of(texts: &[String]) -> Vec<Uri> {
    let uris = texts.iter().map(|text| Uri::new(text, usize::MAX));
    uris.filter_map(Result::ok).collect()
}
