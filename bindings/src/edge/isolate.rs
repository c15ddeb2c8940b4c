use js_sys::{Uint8Array, Uint32Array};
use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    isolate::{Isolate, IsolateOutput},
    upstream::{Patience, UpstreamCall},
};

use crate::{
    number::{millis, time},
    object::optional,
};

use super::{
    fanout::{Core, Fanout, packed, slots_of},
    lease::budget_of,
    stream::Stream,
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** What is to be done about the bus: give up the connection; make a new one, and send `text` on it first; send it on the one that there is. */
export type UpstreamCall = { kind: 'leave' } | { kind: 'attach' | 'send'; text: string };

/** What is to be done for streams. */
export type Told =
  /** Write this, as what `publish` answers. */
  | { kind: 'write'; fan: Uint8Array }
  | { kind: 'poll'; streams: Uint32Array }
  /** The stream cannot be opened: there is no bus, or no room there. */
  | { kind: 'refused' | 'full'; stream: number }
  /** The stream is held here no longer: `parted` is for another one to `adopt`. */
  | { kind: 'parted'; stream: number; parted: Stream };
";

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Call {
    Leave,
    Attach { text: String },
    Send { text: String },
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Told {
    Write {
        #[serde(with = "serde_wasm_bindgen::preserve")]
        fan: Uint8Array,
    },
    Poll {
        #[serde(with = "serde_wasm_bindgen::preserve")]
        streams: Uint32Array,
    },
    Refused {
        stream: u32,
    },
    Full {
        stream: u32,
    },
    Parted {
        stream: u32,
        #[serde(with = "serde_wasm_bindgen::preserve")]
        parted: JsValue,
    },
}

/// Streams that share a connection to a bus. A fan-out that is fed does nothing of this.
#[wasm_bindgen]
impl Fanout {
    /// A fan-out without streams, which follows a bus. `epoch` is when the clock of the other calls began, in milliseconds since 1970.
    /// A request may do so many `writes` for others, and where all have, streams are shed every `shedMs` milliseconds.
    pub fn following(
        epoch: f64,
        writes: Option<u32>,
        #[wasm_bindgen(js_name = shedMs)] shed_ms: Option<f64>,
    ) -> Self {
        let mut isolate = Isolate::new(Patience::default(), millis(epoch));
        isolate.lease().set_budget(budget_of(writes, shed_ms));
        Self::of(Core::Following(Box::new(isolate)))
    }

    /// How long an attach may stay unanswered, and how often a silent bus is asked (0: never).
    #[wasm_bindgen(js_name = setPatience)]
    pub fn set_patience(
        &mut self,
        #[wasm_bindgen(js_name = attachMs)] attach_ms: f64,
        #[wasm_bindgen(js_name = verifyMs)] verify_ms: f64,
    ) {
        if let Some(isolate) = self.isolate() {
            isolate.set_patience(Patience {
                attach: millis(attach_ms),
                verify: millis(verify_ms),
            });
        }
    }

    /// Holds a stream that was parted with elsewhere. It is alone here; `random` is drawn from [0, 1).
    pub fn adopt(&mut self, parted: Stream, now: f64, random: f64) -> Option<u32> {
        let Stream { inner, since, .. } = parted;
        let id = self.isolate()?.adopt(inner, since, millis(now), random);
        Some(id.slot())
    }

    /// Whether the bus has room for one more stream, as far as is known.
    #[wasm_bindgen(js_name = hasRoomFor)]
    pub fn has_room_for(&mut self, stream: &Stream, now: f64) -> bool {
        let honored = stream.inner.honored();
        self.isolate()
            .is_none_or(|isolate| isolate.has_room_for(honored, millis(now)))
    }

    /// Takes a bus frame; the answer is the code of the error if it had to be dropped.
    pub fn receive(&mut self, message: &str, now: f64) -> Option<String> {
        let handled = self.isolate()?.handle_message(message, millis(now));
        handled.err().map(|error| error.code().to_owned())
    }

    /// The bus is gone; `random` is drawn from [0, 1).
    pub fn lose(
        &mut self,
        now: f64,
        random: f64,
        #[wasm_bindgen(js_name = isOverloaded)] is_overloaded: bool,
    ) {
        if let Some(isolate) = self.isolate() {
            isolate.handle_lost(millis(now), random, is_overloaded);
        }
    }

    /// The bus has refused the connection for want of room; `lose` follows.
    pub fn full(&mut self) {
        if let Some(isolate) = self.isolate() {
            isolate.handle_full();
        }
    }

    /// The bus let the connection go, for a shard has the streams from now on; `random` is drawn from [0, 1).
    #[wasm_bindgen(js_name = sentOn)]
    pub fn sent_on(&mut self, now: f64, random: f64) {
        if let Some(isolate) = self.isolate() {
            isolate.handle_sent_on(millis(now), random);
        }
    }

    /// The moment of `busDeadline` has come; `random` is drawn from [0, 1).
    #[wasm_bindgen(js_name = busTimeout)]
    pub fn bus_timeout(&mut self, now: f64, random: f64) {
        if let Some(isolate) = self.isolate() {
            isolate.handle_timeout(millis(now), random);
        }
    }

    /// When to call `busTimeout`, on the clock of the other calls; undefined: not now.
    #[wasm_bindgen(getter, js_name = busDeadline)]
    pub fn bus_deadline(&mut self) -> Option<f64> {
        self.isolate()?.poll_timeout().map(time)
    }

    /// What is to be done about the bus; undefined: nothing now.
    #[wasm_bindgen(unchecked_return_type = "UpstreamCall | undefined")]
    pub fn call(&mut self, now: f64) -> JsValue {
        let isolate = self.isolate();
        let call = isolate.and_then(|isolate| isolate.poll_call(millis(now)));
        optional(call.map(Call::from))
    }

    /// The next thing to do for streams; undefined: nothing now.
    #[wasm_bindgen(unchecked_return_type = "Told | undefined")]
    pub fn output(&mut self, now: f64) -> JsValue {
        let isolate = self.isolate();
        let output = isolate.and_then(|isolate| isolate.poll_output(millis(now)));
        optional(output.map(Told::from))
    }

    /// Whether everything comes, as far as is known.
    #[wasm_bindgen(getter, js_name = isCertain)]
    pub fn is_certain(&mut self) -> bool {
        self.isolate().is_none_or(|isolate| isolate.is_certain())
    }

    /// Asks the bus for everything that was published before this call.
    pub fn settle(&mut self, now: f64) {
        if let Some(isolate) = self.isolate() {
            isolate.settle(millis(now));
        }
    }

    /// Whether everything that was published before `settle` has been received.
    #[wasm_bindgen(getter, js_name = isSettled)]
    pub fn is_settled(&mut self) -> bool {
        self.isolate().is_none_or(|isolate| isolate.is_settled())
    }

    /// Whether the bus was lost, and has not confirmed again yet.
    #[wasm_bindgen(getter, js_name = isAway)]
    pub fn is_away(&mut self) -> bool {
        self.isolate().is_some_and(|isolate| isolate.is_away())
    }

    /// Bytes that the names of all that its streams want count.
    #[wasm_bindgen(getter)]
    pub fn names(&mut self) -> usize {
        self.isolate().map_or(0, |isolate| isolate.names())
    }

    /// How often the bus was lost, how often it confirmed again after that, how often frames were missing on a connection that stayed
    /// open, and nobody could tell what was missed.
    #[wasm_bindgen(getter)]
    pub fn counts(&mut self) -> Vec<u32> {
        let counts = self.isolate().map(|isolate| isolate.counts());
        let counts = counts.unwrap_or_default();
        vec![counts.outages, counts.healed, counts.gaps, counts.resyncs]
    }
}

impl From<UpstreamCall> for Call {
    fn from(call: UpstreamCall) -> Self {
        match call {
            UpstreamCall::Leave => Self::Leave,
            UpstreamCall::Attach(text) => Self::Attach { text },
            UpstreamCall::Send(text) => Self::Send { text },
        }
    }
}

impl From<IsolateOutput> for Told {
    fn from(output: IsolateOutput) -> Self {
        match output {
            IsolateOutput::Write(fan) => Self::Write {
                fan: packed(&fan).as_slice().into(),
            },
            IsolateOutput::Poll(ids) => Self::Poll {
                streams: slots_of(ids).as_slice().into(),
            },
            IsolateOutput::Refused { id, is_full: true } => Self::Full { stream: id.slot() },
            IsolateOutput::Refused { id, .. } => Self::Refused { stream: id.slot() },
            IsolateOutput::Parted(parted) => Self::Parted {
                stream: parted.id.slot(),
                parted: Stream::from(*parted).into(),
            },
        }
    }
}
