use mcp_listen::events::{self, PostedEvents};
use wasm_bindgen::prelude::*;

use crate::posted::Posted;

/// Reads the body of a publish: changes, occurrences, or both.
#[wasm_bindgen(js_name = postedEvents, unchecked_return_type = "PostedEvents")]
pub fn posted_events(body: &[u8]) -> JsValue {
    JsValue::from(match events::posted(body) {
        Ok(PostedEvents { events, is_array }) => Posted::Events { events, is_array },
        Err(error) => Posted::Invalid {
            code: error.code(),
            problem: error.to_string(),
            index: error.index(),
        },
    })
}
