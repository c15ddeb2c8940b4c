use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    topic::Topic,
    upstream::{BusCall, Follower, Heard, Patience},
};

use crate::{
    number::{millis, time},
    object::{object, optional},
    text::texts_of,
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** What is to be done about the bus: give up the connection; make a new one, and send `text` on it first; send it on the one that there is. */
export type BusCall = { kind: 'leave' | 'attach' | 'send'; text: string };

/** What a frame told a listener. */
export interface Heard {
  /** Each event as JSON text. */
  events: string[];
  /** Whether something may have been missed. */
  hasMissed: boolean;
}
";

#[derive(Serialize)]
struct Call {
    kind: &'static str,
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    events: Vec<String>,
    has_missed: bool,
}

/// Hears every event of a bus, over one connection after another: bus frames in, events out.
#[wasm_bindgen]
pub struct Listener(Follower);

#[wasm_bindgen]
impl Listener {
    /// One that has yet to attach: see `call`. An attach may stay unanswered for `attachMs`.
    #[wasm_bindgen(constructor)]
    pub fn new(#[wasm_bindgen(js_name = attachMs)] attach_ms: f64) -> Self {
        let mut follower = Follower::unattached();
        follower.set_patience(Patience {
            attach: millis(attach_ms),
            ..Patience::default()
        });
        Self(follower)
    }

    /// When to call `timeout`, on the clock of the other calls; undefined: not now.
    #[wasm_bindgen(getter)]
    pub fn deadline(&self) -> Option<f64> {
        self.0.poll_timeout().map(time)
    }

    /// Takes a bus frame.
    #[wasm_bindgen(unchecked_return_type = "Heard")]
    pub fn receive(&mut self, message: &str, now: f64) -> JsValue {
        let before = self.0.counts().resyncs;
        let events = match self.0.handle_message(message, None, millis(now)) {
            Ok(Heard::Events { events, .. }) => texts_of(&events),
            _ => Vec::new(),
        };
        object(&Told {
            events,
            has_missed: self.0.counts().resyncs != before,
        })
    }

    /// The bus is gone; `random` is drawn from [0, 1).
    pub fn lose(
        &mut self,
        now: f64,
        random: f64,
        #[wasm_bindgen(js_name = isOverloaded)] is_overloaded: bool,
    ) {
        self.0.handle_lost(millis(now), random, is_overloaded);
    }

    /// The moment of `deadline` has come; `random` is drawn from [0, 1).
    pub fn timeout(&mut self, now: f64, random: f64) {
        self.0.handle_timeout(millis(now), random);
    }

    /// What is to be done about the bus; undefined: nothing now.
    #[wasm_bindgen(unchecked_return_type = "BusCall | undefined")]
    pub fn call(&mut self, now: f64) -> JsValue {
        let call = self.0.poll_call(millis(now));
        optional(call.map(|call| Call {
            kind: match call {
                BusCall::Leave => "leave",
                BusCall::Attach => "attach",
                BusCall::Ask => "send",
            },
            text: self.0.follow(vec![Topic::Everything]).to_json(),
        }))
    }
}
