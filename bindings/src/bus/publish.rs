use mcp_listen::{event::ServerEvent, publish};
use wasm_bindgen::prelude::*;

use crate::posted::Posted;

/// Reads the body of a publish.
#[wasm_bindgen(unchecked_return_type = "PostedEvents")]
pub fn posted(body: &[u8]) -> JsValue {
    JsValue::from(match publish::events(body) {
        Ok(publish::Posted { events, is_array }) => Posted::Events {
            events: events.iter().map(ServerEvent::to_json).collect(),
            is_array,
        },
        Err(error) => Posted::Invalid {
            code: error.code(),
            problem: error.to_string(),
            index: error.index(),
        },
    })
}
