use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    topic::Topic,
    upstream::{BusCall, BusFrame, Follower, Timeouts},
};

use crate::{
    number::{millis, time},
    object::object,
    text::texts_of,
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/**
 * The next step towards the bus: close the connection; open a new one, and send `text` on it first;
 * send it on the current one; or wait until `deadline`, on the clock of the other calls.
 */
export type BusCall =
  | { kind: 'leave' | 'attach' | 'send'; text: string }
  | { kind: 'wait'; deadline: number | undefined };

/** What a follower received with a frame. */
export interface ReceivedEvents {
  /** Each event as JSON text. */
  events: string[];
  /** Whether events may have been missed. */
  hasMissed: boolean;
  /** When to call `BusFollower.call`, on the clock of the other calls. */
  deadline: number | undefined;
}
";

#[derive(Serialize)]
struct Call {
    kind: &'static str,
    text: Option<String>,
    deadline: Option<f64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReceivedEvents {
    events: Vec<String>,
    has_missed: bool,
    deadline: Option<f64>,
}

/// Receives every event of a bus, over one connection after another: bus frames in, events out.
#[wasm_bindgen]
pub struct BusFollower(Follower);

#[wasm_bindgen]
impl BusFollower {
    /// Creates a follower that has not attached yet: see `call`. An attach may stay without a reply
    /// for `attachMs` milliseconds.
    #[wasm_bindgen(constructor)]
    pub fn new(#[wasm_bindgen(js_name = attachMs)] attach_ms: f64) -> Self {
        let mut follower = Follower::unattached();
        follower.set_timeouts(Timeouts {
            attach: millis(attach_ms).into(),
            ..Timeouts::default()
        });
        Self(follower)
    }

    /// Handles a bus frame.
    #[wasm_bindgen(unchecked_return_type = "ReceivedEvents")]
    pub fn receive(&mut self, message: &str, now: f64) -> JsValue {
        let before = self.0.counts().resyncs;
        let events = match self.0.handle_message(message, None, millis(now)) {
            Ok(BusFrame::Events { events, .. }) => texts_of(&events),
            _ => Vec::new(),
        };
        object(&ReceivedEvents {
            events,
            has_missed: self.0.counts().resyncs != before,
            deadline: self.deadline(),
        })
    }

    /// Handles the loss of the connection; `random` is drawn from [0, 1). Returns when to call
    /// `call`; undefined if nothing is planned.
    pub fn lose(
        &mut self,
        now: f64,
        random: f64,
        #[wasm_bindgen(js_name = isOverloaded)] is_overloaded: bool,
    ) -> Option<f64> {
        self.0.handle_lost(millis(now), random, is_overloaded);
        self.deadline()
    }

    /// Returns the next step towards the bus; `random` is drawn from [0, 1).
    #[wasm_bindgen(unchecked_return_type = "BusCall")]
    pub fn call(&mut self, now: f64, random: f64) -> JsValue {
        let now = millis(now);
        if self.0.poll_timeout().is_some_and(|at| at <= now) {
            self.0.handle_timeout(now, random);
        }
        let call = self.0.poll_call(now);
        let text = call.map(|_| self.0.follow(vec![Topic::Everything]).to_json());
        object(&Call {
            kind: call.map_or(WAIT, kind_of),
            text,
            deadline: self.deadline(),
        })
    }
}

impl BusFollower {
    fn deadline(&self) -> Option<f64> {
        self.0.poll_timeout().map(time)
    }
}

fn kind_of(call: BusCall) -> &'static str {
    match call {
        BusCall::Leave => "leave",
        BusCall::Attach => "attach",
        BusCall::Ask => "send",
        _ => WAIT,
    }
}

const WAIT: &str = "wait";
