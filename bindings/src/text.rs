use wasm_bindgen::prelude::*;

use mcp_listen::{
    event::ServerEvent,
    position::Position,
    topic::Topic,
    wire::{BusMessage, EdgeMessage, Follow},
};

use crate::{error::coded, object::object};

/// Returns the event as compact JSON text, undefined if it is that already; throws with a `code` if
/// it is not valid.
#[wasm_bindgen(js_name = normalizeEvent)]
pub fn normalize_event(event: &str) -> Result<Option<String>, JsValue> {
    let compact = event_of(event)?.to_json();
    Ok((compact != event).then_some(compact))
}

/// Whether events, each a line of compact JSON text, may be published again if it is unknown
/// whether they were; false if a line is not an event.
#[wasm_bindgen(js_name = areRepeatable)]
pub fn are_repeatable(events: &str) -> bool {
    let mut events = events.lines().map(ServerEvent::from_json);
    events.all(|event| event.is_ok_and(|event| event.is_repeatable()))
}

/// A constant text.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum FixedText {
    /// The frame with which an edge follows every topic.
    FollowEverything,
    /// The frame with which an edge detaches.
    Detach,
    /// The version of the package.
    Version,
}

/// Returns the text.
#[wasm_bindgen(js_name = textOf)]
pub fn text_of(text: FixedText) -> String {
    match text {
        FixedText::FollowEverything => Follow::fresh(1, vec![Topic::Everything]).to_json(),
        FixedText::Detach => EdgeMessage::Detach.to_json(),
        FixedText::Version => env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Returns the events in a bus frame, each as JSON text.
#[wasm_bindgen(js_name = eventsIn, unchecked_return_type = "string[]")]
pub fn events_in(message: &str) -> JsValue {
    object(&match BusMessage::from_json(message) {
        Ok(BusMessage::Batch(batch)) => texts_of(&batch.events),
        _ => Vec::new(),
    })
}

pub(crate) fn texts_of(events: &[(Position, ServerEvent)]) -> Vec<String> {
    events
        .iter()
        .map(|(_, event)| event.to_public_json())
        .collect()
}

pub(crate) fn event_of(text: &str) -> Result<ServerEvent, JsValue> {
    ServerEvent::from_json(text).map_err(|error| coded(error.code(), &error.to_string()))
}
