use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::events;

use crate::object::object;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The content of a publish body. */
export type PostedEvents =
  /** Each event is compact JSON text; an occurrence has the kind `event`. */
  | { kind: 'events'; events: string[]; isArray: boolean }
  /**
   * `code` is a stable name, `problem` its description, `index` the index of the invalid event,
   * counted from 0.
   */
  | { kind: 'invalid'; code: string; problem: string; index: number | undefined };
";

#[derive(Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Posted {
    Events {
        events: Vec<String>,
        is_array: bool,
    },
    Invalid {
        code: &'static str,
        problem: String,
        index: Option<usize>,
    },
}

/// Reads the body of a publish: changes, occurrences, or both.
#[wasm_bindgen(js_name = postedEvents, unchecked_return_type = "PostedEvents")]
pub fn posted_events(body: &[u8]) -> JsValue {
    object(&match events::posted(body) {
        Ok(events::PostedEvents { events, is_array }) => Posted::Events { events, is_array },
        Err(error) => Posted::Invalid {
            code: error.code(),
            problem: error.to_string(),
            index: error.index(),
        },
    })
}
