use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    events::{
        self, EventName,
        exchange::Caller,
        matching::{MatchResult, match_results, match_results_by_class},
    },
    fanout::StreamId,
};

use crate::{error::coded, number::millis, object::optional, write_batch::packed};

use super::exchange::{EventExchange, error_of, page_of};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The arguments, as JSON text, that streams of a class share. */
export interface EventClass {
  class: number;
  arguments: string;
}
";

/// The event streams of one process or isolate on one bus: pages of the log in, chunks of response
/// bodies out. A stream is identified by its slot: a number that is reused after `remove`.
#[wasm_bindgen]
#[derive(Default)]
pub struct EventStreams(events::EventStreams, u32);

#[derive(Serialize)]
struct Class<'c> {
    class: u32,
    arguments: &'c str,
}

#[wasm_bindgen]
impl EventStreams {
    /// Creates a holder without streams.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the stream of a request whose step is `stream`.
    pub fn open(&mut self, exchange: &EventExchange) -> Result<u32, JsValue> {
        Ok(self.0.open(exchange.opening()?).slot())
    }

    /// Returns what to ask the log for one stream, as JSON text: where it begins, or what it has
    /// missed. Undefined if it gets the next page that is read for all.
    #[wasm_bindgen(js_name = queryOf)]
    pub fn query_of(&self, stream: u32) -> Option<String> {
        let query = self.0.query_of(self.0.id_at(stream)?)?;
        Some(query.to_json())
    }

    /// Begins a stream with the page for its query. Returns its first bytes; undefined if it has
    /// begun before. `results` is a JSON array in the form of `EventExchange.handleMatchResults`,
    /// for `argumentsOf`.
    pub fn begin(
        &mut self,
        stream: u32,
        page: &str,
        results: Option<String>,
    ) -> Result<Option<Vec<u8>>, JsValue> {
        let (page, results) = (page_of(page)?, match_results_of(results.as_deref()));
        let id = self.0.id_at(stream);
        Ok(id.and_then(|id| self.0.begin(id, &page, &results)))
    }

    /// Handles a page for one stream that is behind and has room. Returns its bytes; undefined if
    /// there are none.
    pub fn own(
        &mut self,
        stream: u32,
        page: &str,
        results: Option<String>,
    ) -> Result<Option<Vec<u8>>, JsValue> {
        let (page, results) = (page_of(page)?, match_results_of(results.as_deref()));
        let id = self.0.id_at(stream);
        Ok(id.and_then(|id| self.0.handle_own_page(id, &page, &results)))
    }

    /// Handles a cue: the log may have something new of this event type. Returns as `query`.
    pub fn cued(&mut self, name: &str, now: f64) -> Option<String> {
        with(name, |name| self.0.handle_cue(name));
        self.query(name, now)
    }

    /// Returns what to ask the log in the next reading for all streams of an event type, as JSON
    /// text; undefined if nothing is due, or if a reading is under way that is not late.
    pub fn query(&mut self, name: &str, now: f64) -> Option<String> {
        let now = millis(now);
        let reading = with(name, |name| self.0.query(name, now))??;
        self.1 = reading.number;
        Some(reading.query.to_json())
    }

    /// The number of the latest reading.
    #[wasm_bindgen(getter)]
    pub fn reading(&self) -> u32 {
        self.1
    }

    /// Handles the page of a reading, unless that of a later one has come. Returns what to write
    /// to which stream, see `js/streams/bodies/fanout-bodies.ts`, a part of the streams at a time:
    /// report the streams without room with `missed`, then call `rest`. `results` is JSON text
    /// with the match results for each of `classes`: `[{"class":N,"results":[...]}]`.
    pub fn page(
        &mut self,
        name: &str,
        reading: u32,
        page: &str,
        results: Option<String>,
    ) -> Result<Option<Vec<u8>>, JsValue> {
        let page = page_of(page)?;
        let results = results.as_deref().and_then(match_results_by_class);
        let results = results.unwrap_or_default();
        with(name, |name| {
            self.0.handle_page((name, reading), page, &results);
        });
        Ok(self.rest())
    }

    /// Returns the next part of what to write; undefined if that was all.
    pub fn rest(&mut self) -> Option<Vec<u8>> {
        Some(packed(&self.0.poll_batch()?))
    }

    /// Handles streams that had no room for the last part: they are behind.
    pub fn missed(&mut self, streams: Vec<u32>) {
        let ids: Vec<StreamId> = streams
            .into_iter()
            .filter_map(|stream| self.0.id_at(stream))
            .collect();
        self.0.handle_missed(ids);
    }

    /// Returns the streams that the last page has left behind, once `rest` has returned undefined:
    /// each reads its pages alone.
    #[wasm_bindgen(js_name = takeLeft)]
    pub fn take_left(&mut self) -> Vec<u32> {
        let left = self.0.take_left().into_iter();
        left.map(StreamId::slot).collect()
    }

    /// Handles that a reading has failed: another one is due, unless it is under way.
    pub fn failed(&mut self, name: &str, reading: u32) {
        with(name, |name| self.0.handle_failure(name, reading));
    }

    /// Handles the groups of a stream's caller, a JSON array. Returns whether they have changed.
    /// Throws if one is not valid.
    pub fn regroup(&mut self, stream: u32, groups: &str) -> Result<bool, JsValue> {
        let caller = Caller::from_json(&format!("{{\"groups\":{groups}}}")).ok_or_else(|| {
            coded(
                "authorizer-failed",
                "the groups of the caller are not valid",
            )
        })?;
        let id = self.0.id_at(stream);
        Ok(id.is_some_and(|id| self.0.handle_groups(id, caller.groups)))
    }

    /// Returns the classes of streams of an event type for which the server decides what matches,
    /// but for those whose streams are all behind; undefined if the page of a later reading has
    /// come.
    #[wasm_bindgen(unchecked_return_type = "EventClass[] | undefined")]
    pub fn classes(&self, name: &str, reading: u32) -> JsValue {
        let classes = with(name, |name| self.0.classes(name, reading)).flatten();
        optional(classes.map(|classes| {
            let classes = classes.into_iter();
            let classes = classes.map(|(class, arguments)| Class { class, arguments });
            classes.collect::<Vec<_>>()
        }))
    }

    /// Returns the arguments of a stream, as JSON text, if the server decides what matches.
    #[wasm_bindgen(js_name = argumentsOf)]
    pub fn arguments_of(&self, stream: u32) -> Option<String> {
        let arguments = self.0.arguments_of(self.0.id_at(stream)?)?;
        Some(arguments.to_owned())
    }

    /// Returns a heartbeat; undefined unless the stream has begun and not ended.
    pub fn heartbeat(&self, stream: u32) -> Option<Vec<u8>> {
        self.0.heartbeat(self.0.id_at(stream)?)
    }

    /// Ends a subscription; `error` as in `EventExchange.refuse`. Returns the last bytes, with the
    /// error and the result; undefined unless the stream has begun and not ended.
    pub fn terminate(&mut self, stream: u32, error: &str) -> Result<Option<Vec<u8>>, JsValue> {
        let error = error_of(error)?;
        let id = self.0.id_at(stream);
        Ok(id.and_then(|id| self.0.terminate(id, &error)))
    }

    /// Removes a stream.
    pub fn remove(&mut self, stream: u32) {
        if let Some(id) = self.0.id_at(stream) {
            self.0.remove(id);
        }
    }
}

/// Calls `action` with a name; does nothing if it is none.
fn with<T>(name: &str, action: impl FnOnce(&EventName) -> T) -> Option<T> {
    EventName::new(name).ok().as_ref().map(action)
}

/// Returns the match results of a page; where they cannot be read, all have failed.
fn match_results_of(text: Option<&str>) -> Vec<MatchResult> {
    text.and_then(match_results).unwrap_or_default()
}
