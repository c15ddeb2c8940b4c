use wasm_bindgen::prelude::*;

use mcp_listen::{event::ServerEvent, position::Position};

use crate::text::event_of;

use super::at;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/**
 * The log that a bus reads. An exception of the log is thrown by the call that made the bus read.
 */
export interface BusLog {
  /** Distinguishes this log from others. */
  readonly epoch: string;
  /** The position of the last event; 0 if there is none. */
  readonly position: number;
  /** The log contains every event after this position. */
  readonly floor: number;
  /** Returns the events after a position, in order. */
  after(position: number): EventCursor;
  /** Returns the events at these positions, which ascend. */
  at(positions: Float64Array): EventCursor;
}

/** An iterator over events of a log. */
export interface EventCursor {
  next(): { done?: boolean; value?: { position: number; event: string } | undefined };
}
";

#[wasm_bindgen]
extern "C" {
    /// A log that is implemented in JavaScript.
    #[wasm_bindgen(typescript_type = "BusLog")]
    pub type Log;
    #[wasm_bindgen(method, structural, getter)]
    pub(super) fn epoch(this: &Log) -> String;
    #[wasm_bindgen(method, structural, getter)]
    pub(super) fn position(this: &Log) -> f64;
    #[wasm_bindgen(method, structural, getter)]
    pub(super) fn floor(this: &Log) -> f64;
    #[wasm_bindgen(method, structural, catch)]
    pub(super) fn after(this: &Log, position: f64) -> Result<Cursor, JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    pub(super) fn at(this: &Log, positions: Vec<f64>) -> Result<Cursor, JsValue>;

    pub(super) type Cursor;
    #[wasm_bindgen(method, structural, catch)]
    fn next(this: &Cursor) -> Result<Step, JsValue>;

    type Step;
    #[wasm_bindgen(method, structural, getter)]
    fn value(this: &Step) -> Option<Logged>;

    type Logged;
    #[wasm_bindgen(method, structural, getter)]
    fn position(this: &Logged) -> f64;
    #[wasm_bindgen(method, structural, getter)]
    fn event(this: &Logged) -> String;
}

impl Cursor {
    /// Passes each event to `take`.
    pub(super) fn each(&self, take: &mut dyn FnMut(Position, &ServerEvent)) -> Result<(), JsValue> {
        while let Some(logged) = self.next()?.value() {
            take(at(logged.position()), &event_of(&logged.event())?);
        }
        Ok(())
    }
}
