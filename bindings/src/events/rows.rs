use std::fmt;

use wasm_bindgen::prelude::*;

use mcp_listen::{
    clock::Millis,
    events::{EventRows, NameRow, NewRow, Removed, StoredRow},
    position::Position,
};

use crate::{
    number::{millis, time},
    position::{number, position},
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/**
 * The rows of a log of occurrences. An exception of the store is thrown by the call that used it.
 * Positions are whole numbers; times are milliseconds since 1970.
 */
export interface EventRows {
  /** Adds an occurrence after all others. */
  append(row: NewEventRow): void;
  /** Returns the position of the occurrence of a name and a group with this `eventId`. */
  find(name: string, group: string | undefined, eventId: string): number | undefined;
  /** Returns the occurrences of a name after a position, in order. */
  after(name: string, position: number): Iterator<EventRow>;
  /**
   * Returns the position of the first occurrence of a name after a position that was published at
   * `at` or later.
   */
  since(name: string, position: number, at: number): number | undefined;
  /**
   * Removes the oldest occurrences of a name: as few as have `bytes` together, and at most `count`.
   */
  removeOldest(name: string, count: number, bytes: number): RemovedEvent[];
  /** Removes occurrences published before `at`: at most `count`, and of each name the oldest. */
  removeBefore(at: number, count: number): RemovedEvent[];
  /** Returns the stored row of each name. */
  names(): EventNameRow[];
  /** Stores the row of a name, replacing its previous row. */
  keepName(row: EventNameRow): void;
  /** Removes the stored row of a name. */
  forgetName(name: string): void;
}

/** An occurrence to store. */
export interface NewEventRow {
  position: number;
  /** When it was published. */
  at: number;
  name: string;
  /** Its group; undefined if every caller may receive it. */
  group: string | undefined;
  /** Unique for the name and the group; undefined if it follows from the position. */
  eventId: string | undefined;
  /** The other members, as the core reads them again. */
  text: string;
}

/** An occurrence that was stored. */
export interface EventRow {
  position: number;
  at: number;
  group: string | undefined;
  text: string;
}

/** An occurrence that was removed. */
export interface RemovedEvent {
  name: string;
  position: number;
  /** Bytes of its text in UTF-8. */
  bytes: number;
}

/** What the log keeps of a name. */
export interface EventNameRow {
  name: string;
  /** Occurrences up to this position were removed. */
  trimmed: number;
  /** Occurrences that the log holds. */
  count: number;
  /** Bytes of their texts. */
  bytes: number;
}
";

#[wasm_bindgen]
extern "C" {
    /// Rows that are stored by JavaScript.
    #[wasm_bindgen(typescript_type = "EventRows")]
    pub type Rows;
    #[wasm_bindgen(method, structural, catch)]
    fn append(this: &Rows, row: JsValue) -> Result<(), JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn find(
        this: &Rows,
        name: &str,
        group: Option<&str>,
        event_id: &str,
    ) -> Result<Option<f64>, JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn after(this: &Rows, name: &str, position: f64) -> Result<Cursor, JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn since(this: &Rows, name: &str, position: f64, at: f64) -> Result<Option<f64>, JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = removeOldest)]
    fn remove_oldest(
        this: &Rows,
        name: &str,
        count: usize,
        bytes: f64,
    ) -> Result<Vec<JsRemoved>, JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = removeBefore)]
    fn remove_before(this: &Rows, at: f64, count: usize) -> Result<Vec<JsRemoved>, JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn names(this: &Rows) -> Result<Vec<JsName>, JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = keepName)]
    fn keep_name(this: &Rows, row: JsValue) -> Result<(), JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = forgetName)]
    fn forget_name(this: &Rows, name: &str) -> Result<(), JsValue>;

    type Cursor;
    #[wasm_bindgen(method, structural, catch)]
    fn next(this: &Cursor) -> Result<Step, JsValue>;

    type Step;
    #[wasm_bindgen(method, structural, getter)]
    fn value(this: &Step) -> Option<JsRow>;

    type JsRow;
    #[wasm_bindgen(method, structural, getter)]
    fn position(this: &JsRow) -> f64;
    #[wasm_bindgen(method, structural, getter)]
    fn at(this: &JsRow) -> f64;
    #[wasm_bindgen(method, structural, getter)]
    fn group(this: &JsRow) -> Option<String>;
    #[wasm_bindgen(method, structural, getter)]
    fn text(this: &JsRow) -> String;

    type JsRemoved;
    #[wasm_bindgen(method, structural, getter)]
    fn name(this: &JsRemoved) -> String;
    #[wasm_bindgen(method, structural, getter)]
    fn position(this: &JsRemoved) -> f64;
    #[wasm_bindgen(method, structural, getter)]
    fn bytes(this: &JsRemoved) -> f64;

    type JsName;
    #[wasm_bindgen(method, structural, getter)]
    fn name(this: &JsName) -> String;
    #[wasm_bindgen(method, structural, getter)]
    fn trimmed(this: &JsName) -> f64;
    #[wasm_bindgen(method, structural, getter)]
    fn count(this: &JsName) -> usize;
    #[wasm_bindgen(method, structural, getter)]
    fn bytes(this: &JsName) -> f64;
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct NewJsRow<'r> {
    position: f64,
    at: f64,
    name: &'r str,
    group: Option<&'r str>,
    event_id: Option<&'r str>,
    text: &'r str,
}

#[derive(serde::Serialize)]
struct NewJsName<'r> {
    name: &'r str,
    trimmed: f64,
    count: usize,
    bytes: f64,
}

impl EventRows for Rows {
    type Error = JsValue;

    fn append(&mut self, row: &NewRow<'_>) -> Result<(), JsValue> {
        let row = NewJsRow {
            position: number(row.position),
            at: time(row.at),
            name: row.name,
            group: row.group,
            event_id: row.event_id,
            text: row.text,
        };
        Rows::append(self, crate::object::object(&row))
    }

    fn find(
        &self,
        name: &str,
        group: Option<&str>,
        event_id: &str,
    ) -> Result<Option<Position>, JsValue> {
        Ok(Rows::find(self, name, group, event_id)?.map(position))
    }

    fn after(
        &self,
        name: &str,
        after: Position,
        take: &mut dyn FnMut(StoredRow) -> bool,
    ) -> Result<(), JsValue> {
        let rows = Rows::after(self, name, number(after))?;
        while let Some(row) = rows.next()?.value() {
            let row = StoredRow {
                position: position(row.position()),
                at: millis(row.at()),
                group: row.group().map(String::into_boxed_str),
                text: row.text(),
            };
            if !take(row) {
                break;
            }
        }
        Ok(())
    }

    fn since(&self, name: &str, after: Position, at: Millis) -> Result<Option<Position>, JsValue> {
        Ok(Rows::since(self, name, number(after), time(at))?.map(position))
    }

    fn remove_oldest(
        &mut self,
        name: &str,
        count: usize,
        bytes: u64,
    ) -> Result<Vec<Removed>, JsValue> {
        let bytes = number(Position(bytes));
        Ok(removed(&Rows::remove_oldest(self, name, count, bytes)?))
    }

    fn remove_before(&mut self, at: Millis, count: usize) -> Result<Vec<Removed>, JsValue> {
        Ok(removed(&Rows::remove_before(self, time(at), count)?))
    }

    fn names(&self) -> Result<Vec<NameRow>, JsValue> {
        let names = Rows::names(self)?;
        let names = names.iter().map(|row| NameRow {
            name: row.name().into_boxed_str(),
            trimmed: position(row.trimmed()),
            count: row.count(),
            bytes: position(row.bytes()).0,
        });
        Ok(names.collect())
    }

    fn keep_name(&mut self, row: &NameRow) -> Result<(), JsValue> {
        let row = NewJsName {
            name: &row.name,
            trimmed: number(row.trimmed),
            count: row.count,
            bytes: number(Position(row.bytes)),
        };
        Rows::keep_name(self, crate::object::object(&row))
    }

    fn forget_name(&mut self, name: &str) -> Result<(), JsValue> {
        Rows::forget_name(self, name)
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rows")
    }
}

fn removed(rows: &[JsRemoved]) -> Vec<Removed> {
    let rows = rows.iter().map(|row| Removed {
        name: row.name().into_boxed_str(),
        position: position(row.position()),
        bytes: position(row.bytes()).0,
    });
    rows.collect()
}
