use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    events::{self, Draft, OccurrenceError, Window, page::LogQuery},
    json,
    position::Cursor,
};

use crate::{
    error::{coded, malformed},
    number::millis,
    object::object,
    position::{number, position},
};

use super::rows::Rows;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The receipt of an occurrence. */
export interface AppendedEvent {
  /** Its position in the log. */
  position: number;
  eventId: string;
  /** Whether it was added now; false if the log had one of this name and id. */
  isNew: boolean;
}
";

/// An occurrence that was checked, before the bus gives it a position.
#[wasm_bindgen]
pub struct EventDraft(Draft);

#[wasm_bindgen]
impl EventDraft {
    /// Reads `{"kind":"event",...}`; throws with the `code` of what is wrong.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str) -> Result<Self, JsValue> {
        Draft::from_json(text.as_bytes()).map(Self).map_err(refused)
    }

    /// The name of the event type.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.0.name.to_string()
    }

    /// The payload, a JSON object.
    #[wasm_bindgen(getter)]
    pub fn data(&self) -> String {
        self.0.data.to_string()
    }

    /// The event as compact JSON text.
    #[wasm_bindgen(getter)]
    pub fn text(&self) -> String {
        self.0.to_json()
    }

    /// The event that the bus carries to the readers of the log, as JSON text.
    #[wasm_bindgen(getter)]
    pub fn cue(&self) -> Result<String, JsValue> {
        let cue = events::cue(&self.0.name, self.0.group.as_ref());
        let cue = cue.ok_or_else(|| refused(OccurrenceError::Group))?;
        Ok(cue.to_json())
    }
}

/// The log of occurrences of a bus.
#[wasm_bindgen]
pub struct EventLog {
    log: events::EventLog<Rows>,
    epoch: Box<str>,
}

#[wasm_bindgen]
impl EventLog {
    /// Opens the log. `epoch` distinguishes it from others; `window` is JSON text of an object with
    /// any of `events`, `ageMs`, `bytes`, `names`.
    #[wasm_bindgen(constructor)]
    pub fn new(rows: Rows, epoch: &str, window: &str) -> Result<Self, JsValue> {
        let window: Window = json::from_text(window)
            .ok_or_else(|| coded("invalid-options", "the window of the log is not valid"))?;
        Ok(Self {
            log: events::EventLog::open(rows, window)?,
            epoch: epoch.into(),
        })
    }

    /// Throws with the `code` `too-many-event-names` if the log has no room for occurrences of this
    /// name.
    #[wasm_bindgen(js_name = expectRoom)]
    pub fn expect_room(&self, draft: &EventDraft) -> Result<(), JsValue> {
        if self.log.has_room(&draft.0.name) {
            return Ok(());
        }
        Err(coded(
            "too-many-event-names",
            "the log holds occurrences of as many names as it may",
        ))
    }

    /// Adds an occurrence at a new position of the bus, unless the log has it.
    #[wasm_bindgen(unchecked_return_type = "AppendedEvent")]
    pub fn append(&mut self, draft: &EventDraft, at: f64, now: f64) -> Result<JsValue, JsValue> {
        let cursor = self.cursor(at);
        let appended = self.log.append(&draft.0, &cursor, millis(now))?;
        Ok(object(&Appended {
            position: number(appended.position),
            event_id: &appended.event_id,
            is_new: appended.is_new,
        }))
    }

    /// Returns the page for a query, both as JSON text, for a bus whose last position
    /// is `head`.
    pub fn page(&self, query: &str, head: f64, now: f64) -> Result<String, JsValue> {
        let query = query_of(query)?;
        let page = self.log.page(&query, &self.cursor(head), millis(now))?;
        Ok(page.to_json())
    }

    /// Returns whether the reader who asks has more than this log, a copy whose last position is
    /// `head`.
    #[wasm_bindgen(js_name = isBehind)]
    pub fn is_behind(&self, query: &str, head: f64) -> Result<bool, JsValue> {
        Ok(query_of(query)?.is_ahead_of(&self.cursor(head)))
    }

    fn cursor(&self, at: f64) -> Cursor {
        Cursor {
            epoch: self.epoch.clone(),
            position: position(at),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Appended<'a> {
    position: f64,
    event_id: &'a str,
    is_new: bool,
}

fn query_of(text: &str) -> Result<LogQuery, JsValue> {
    LogQuery::from_json(text).ok_or_else(|| malformed("the query"))
}

fn refused(error: OccurrenceError) -> JsValue {
    coded(error.code(), &error.to_string())
}
