use js_sys::Uint32Array;
use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    fanout::StreamId,
    isolate::Isolate,
    lease::{LeaseOutput, Term},
};

use crate::{
    number::{millis, time},
    object::optional,
};

use super::fanout::{Fanout, slots_of};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The next step for the socket that the streams share. */
export type LeaseCall =
  /** The request of the stream has to `take` the socket, or to close it and `checkOwner`. */
  | { kind: 'appoint' | 'release'; stream: number }
  /** The request that owns the socket has to call `handleProof`, which proves that it runs. */
  | { kind: 'prove'; term: number }
  /** These streams have to end: all requests are spent. */
  | { kind: 'end'; streams: Uint32Array };
";

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Call {
    Appoint {
        stream: u32,
    },
    Release {
        stream: u32,
    },
    Prove {
        term: u32,
    },
    End {
        #[serde(with = "serde_wasm_bindgen::preserve")]
        streams: Uint32Array,
    },
}

/// The lease: which stream's request owns the connection to the bus.
#[wasm_bindgen]
impl Fanout {
    /// Takes the socket for the request of a stream, which is running. Returns the number of its
    /// term; undefined if it must not own it.
    pub fn take(&mut self, stream: u32) -> Option<u32> {
        let (isolate, id) = self.member(stream)?;
        isolate.lease().take(id).map(|Term(term)| term)
    }

    /// Proves that the request that took the socket in this term is running.
    #[wasm_bindgen(js_name = handleProof)]
    pub fn handle_proof(&mut self, term: u32) {
        if let Some(isolate) = self.isolate() {
            isolate.lease().handle_proof(Term(term));
        }
    }

    /// Checks on behalf of the request of a stream whether the owner of the socket is running, if
    /// it is time to; `random` is drawn from [0, 1). Returns when to call this again, on the clock
    /// of the other calls; undefined if it owns the socket itself.
    #[wasm_bindgen(js_name = checkOwner)]
    pub fn check_owner(&mut self, stream: u32, now: f64, random: f64) -> Option<f64> {
        let (isolate, id) = self.member(stream)?;
        let lease = isolate.lease();
        lease.handle_timeout_of(id, millis(now), random);
        lease.poll_timeout_of(id).map(time)
    }

    /// Returns the next step for the socket; undefined if there is none now. Call it after
    /// `pollOutput`, `checkOwner` and `remove`; `random` is drawn from [0, 1).
    #[wasm_bindgen(js_name = pollLease, unchecked_return_type = "LeaseCall | undefined")]
    pub fn poll_lease(&mut self, now: f64, random: f64) -> JsValue {
        let isolate = self.isolate();
        let output = isolate.and_then(|isolate| isolate.poll_lease(millis(now), random));
        optional(output.and_then(Call::of))
    }
}

impl Fanout {
    fn member(&mut self, slot: u32) -> Option<(&mut Isolate, StreamId)> {
        let isolate = self.isolate()?;
        let id = isolate.streams().id_at(slot)?;
        Some((isolate, id))
    }
}

impl Call {
    /// `None` for an output that these bindings do not know.
    fn of(output: LeaseOutput<StreamId>) -> Option<Self> {
        Some(match output {
            LeaseOutput::Appoint(id) => Self::Appoint { stream: id.slot() },
            LeaseOutput::Release(id) => Self::Release { stream: id.slot() },
            LeaseOutput::Prove(Term(term)) => Self::Prove { term },
            LeaseOutput::End(ids) => Self::End {
                streams: slots_of(ids).as_slice().into(),
            },
            _ => return None,
        })
    }
}
