use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{event::ServerEvent, publish};

use crate::object::object;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The content of a publish body. */
export type Posted =
  /** Each event is compact JSON text. */
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

/// Reads the body of a publish.
#[wasm_bindgen(unchecked_return_type = "Posted")]
pub fn posted(body: &[u8]) -> JsValue {
    object(&match publish::events(body) {
        Ok(posted) => Posted::Events {
            events: posted.events.iter().map(ServerEvent::to_json).collect(),
            is_array: posted.is_array,
        },
        Err(error) => Posted::Invalid {
            code: error.code(),
            problem: error.to_string(),
            index: error.index(),
        },
    })
}
