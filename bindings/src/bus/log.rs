use wasm_bindgen::prelude::*;

use mcp_listen::{
    event::ServerEvent,
    position::{self, Position},
    root,
};

use crate::text::event_of;

use super::{at, number};

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
    fn epoch(this: &Log) -> String;
    #[wasm_bindgen(method, structural, getter)]
    fn position(this: &Log) -> f64;
    #[wasm_bindgen(method, structural, getter)]
    fn floor(this: &Log) -> f64;
    #[wasm_bindgen(method, structural, catch)]
    fn after(this: &Log, position: f64) -> Result<Cursor, JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn at(this: &Log, positions: Vec<f64>) -> Result<Cursor, JsValue>;

    type Cursor;
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

type Take<'t> = dyn FnMut(Position, &ServerEvent) + 't;

impl root::Log for Log {
    type Error = JsValue;

    fn cursor(&self) -> position::Cursor {
        position::Cursor {
            epoch: self.epoch().into(),
            position: at(self.position()),
        }
    }

    fn floor(&self) -> Position {
        at(Self::floor(self))
    }

    fn after(&self, position: Position, take: &mut Take<'_>) -> Result<(), JsValue> {
        Self::after(self, number(position))?.each(take)
    }

    fn at(&self, positions: &[Position], take: &mut Take<'_>) -> Result<(), JsValue> {
        let positions = positions.iter().map(|position| number(*position));
        Self::at(self, positions.collect())?.each(take)
    }
}

impl Cursor {
    /// Passes each event to `take`.
    fn each(&self, take: &mut Take<'_>) -> Result<(), JsValue> {
        while let Some(logged) = self.next()?.value() {
            take(at(logged.position()), &event_of(&logged.event())?);
        }
        Ok(())
    }
}
