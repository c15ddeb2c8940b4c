use js_sys::{Uint8Array, Uint32Array};
use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    isolate::IsolateOutput,
    upstream::{Timeouts, UpstreamCall},
};

use crate::{
    number::{millis, time},
    object::optional,
    write_batch::packed,
};

use super::{
    fanout::{Fanout, slots_of},
    stream::Stream,
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/**
 * The next step towards the bus: close the connection; open a new one, and send `text` on it first;
 * or send it on the current one.
 */
export type UpstreamCall = { kind: 'leave' } | { kind: 'attach' | 'send'; text: string };

/** The next step for streams. */
export type StreamOutput =
  /** Write this batch, packed as in the result of `publish`. */
  | { kind: 'write'; batch: Uint8Array }
  | { kind: 'poll'; streams: Uint32Array }
  /** The stream cannot be opened: the bus is not available, or has no room. */
  | { kind: 'refused' | 'full'; stream: number }
  /** The stream is no longer held here: `moved` has to be passed to `adopt` elsewhere. */
  | { kind: 'moved'; stream: number; moved: Stream };
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
enum StreamOutput {
    Write {
        #[serde(with = "serde_wasm_bindgen::preserve")]
        batch: Uint8Array,
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
    Moved {
        stream: u32,
        #[serde(with = "serde_wasm_bindgen::preserve")]
        moved: JsValue,
    },
}

/// Streams that share a connection to a bus. These calls have no effect on a fan-out without one.
#[wasm_bindgen]
impl Fanout {
    /// Sets how long the bus may take to confirm an attach, and how often a silent bus is probed,
    /// both in milliseconds; 0 disables the latter.
    #[wasm_bindgen(js_name = setTimeouts)]
    pub fn set_timeouts(
        &mut self,
        #[wasm_bindgen(js_name = attachMs)] attach_ms: f64,
        #[wasm_bindgen(js_name = probeIntervalMs)] probe_interval_ms: f64,
    ) {
        if let Some(isolate) = self.isolate() {
            isolate.set_timeouts(Timeouts {
                attach: millis(attach_ms).into(),
                probe_interval: millis(probe_interval_ms).into(),
            });
        }
    }

    /// Adds a stream that was moved from elsewhere. It has this fan-out to itself; `random` is
    /// drawn from [0, 1).
    pub fn adopt(&mut self, moved: Stream, now: f64, random: f64) -> Option<u32> {
        let Stream { inner, since, .. } = moved;
        let id = self.isolate()?.adopt(inner, since, millis(now), random);
        Some(id.slot())
    }

    /// Whether the bus has room for another stream, as far as is known.
    #[wasm_bindgen(js_name = hasRoomFor)]
    pub fn has_room_for(&mut self, stream: &Stream, now: f64) -> bool {
        let honored = stream.inner.honored();
        self.isolate()
            .is_none_or(|isolate| isolate.has_room_for(honored, millis(now)))
    }

    /// Handles a bus frame. Returns the error code if it was dropped.
    #[wasm_bindgen(js_name = handleMessage)]
    pub fn handle_message(&mut self, message: &str, now: f64) -> Option<String> {
        let handled = self.isolate()?.handle_message(message, millis(now));
        handled.err().map(|error| error.code().to_owned())
    }

    /// Handles the loss of the connection to the bus; `random` is drawn from [0, 1).
    #[wasm_bindgen(js_name = handleLost)]
    pub fn handle_lost(&mut self, why: Loss, now: f64, random: f64) {
        let Some(isolate) = self.isolate() else {
            return;
        };
        let now = millis(now);
        match why {
            Loss::Lost => isolate.handle_lost(now, random, false),
            Loss::Busy => isolate.handle_lost(now, random, true),
            Loss::Full => {
                isolate.handle_full();
                isolate.handle_lost(now, random, true);
            }
            Loss::Redirected => isolate.handle_redirected(now, random),
        }
    }

    /// Returns the next step towards the bus; undefined if there is none now. Pass `random`, drawn
    /// from [0, 1), if the deadline in `busState` has come.
    #[wasm_bindgen(js_name = pollCall, unchecked_return_type = "UpstreamCall | undefined")]
    pub fn poll_call(&mut self, now: f64, random: Option<f64>) -> JsValue {
        let now = millis(now);
        let call = self.isolate().and_then(|isolate| {
            if let Some(random) = random {
                isolate.handle_timeout(now, random);
            }
            isolate.poll_call(now)
        });
        optional(call.and_then(Call::of))
    }

    /// Returns the next step for streams; undefined if there is none now.
    #[wasm_bindgen(js_name = pollOutput, unchecked_return_type = "StreamOutput | undefined")]
    pub fn poll_output(&mut self, now: f64) -> JsValue {
        let isolate = self.isolate();
        let output = isolate.and_then(|isolate| isolate.poll_output(millis(now)));
        optional(output.and_then(StreamOutput::of))
    }

    /// Requests everything from the bus that was published before this call.
    pub fn settle(&mut self, now: f64) {
        if let Some(isolate) = self.isolate() {
            isolate.settle(millis(now));
        }
    }

    /// Returns the state of the bus, as numbers because it is read at every frame: the count of
    /// outages; of recoveries; of gaps on a connection that stayed open; and of resyncs, where the
    /// bus could not replay what was missed. Then 1 if the bus is unavailable; 1 if everything
    /// published before `settle` has been received; and 1 if what was received last confirms or
    /// refuses streams that wait for the bus. Then the deadline, on the clock of the other calls,
    /// if there is one.
    #[wasm_bindgen(js_name = busState)]
    pub fn bus_state(&mut self) -> Vec<f64> {
        let Some(isolate) = self.isolate() else {
            return Vec::new();
        };
        let counts = isolate.counts();
        let counted = [counts.outages, counts.healed, counts.gaps, counts.resyncs];
        let flags = [
            isolate.is_away(),
            isolate.is_settled(),
            isolate.has_confirmations(),
        ];
        let numbers = counted.into_iter().chain(flags.map(u32::from));
        let deadline = isolate.poll_timeout().map(time);
        numbers.map(f64::from).chain(deadline).collect()
    }
}

/// How a connection to a bus was lost.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Loss {
    /// It broke.
    Lost,
    /// The bus is overloaded: reconnect later than usual.
    Busy,
    /// The bus has no room for the connection.
    Full,
    /// The bus closed it, because a shard serves the streams from now on.
    Redirected,
}

impl Call {
    /// `None` for a call that these bindings do not know.
    fn of(call: UpstreamCall) -> Option<Self> {
        Some(match call {
            UpstreamCall::Leave => Self::Leave,
            UpstreamCall::Attach(text) => Self::Attach { text },
            UpstreamCall::Send(text) => Self::Send { text },
            _ => return None,
        })
    }
}

impl StreamOutput {
    /// `None` for an output that these bindings do not know.
    fn of(output: IsolateOutput) -> Option<Self> {
        Some(match output {
            IsolateOutput::Write(batch) => Self::Write {
                batch: packed(&batch).as_slice().into(),
            },
            IsolateOutput::Poll(ids) => Self::Poll {
                streams: slots_of(ids).as_slice().into(),
            },
            IsolateOutput::Refused { id, is_full: true } => Self::Full { stream: id.slot() },
            IsolateOutput::Refused { id, .. } => Self::Refused { stream: id.slot() },
            IsolateOutput::Moved(moved) => Self::Moved {
                stream: moved.id.slot(),
                moved: Stream::from(*moved).into(),
            },
            _ => return None,
        })
    }
}
