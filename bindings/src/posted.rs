//! The content of a publish body.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use crate::object::object;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The content of a publish body. */
export type PostedEvents =
  /** Each event is compact JSON text; an occurrence of MCP Events has the kind `event`. */
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
pub(crate) enum Posted {
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

impl From<Posted> for JsValue {
    fn from(posted: Posted) -> Self {
        object(&posted)
    }
}
