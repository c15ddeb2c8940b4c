use js_sys::Uint32Array;
use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::{self, EdgeId, Keeps, Mark, Position},
    wire::topics_of,
};

use crate::{
    number::{millis, time},
    object::{object, optional},
};

use super::{
    at,
    log::{Delivery, change_of},
    number, refused,
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** What a frame from an edge led to. */
export type ShardReceived =
  /** As `Following` says; the edge holds the stream of `session`. */
  | { kind: 'followed'; keepsAll: boolean; change: string | undefined; session: string | undefined }
  /** The edge asked to be let go. */
  | { kind: 'detached' }
  /** The frame had to be dropped. */
  | { kind: 'dropped'; code: string };

/** What a shard wants done. */
export type ShardOutput =
  | { kind: 'send'; message: string; edges: Uint32Array }
  /** What `Shard.kept` gives of the edge is to be kept. */
  | { kind: 'keep'; edge: number }
  /** What is kept of the edge has changed by this. */
  | { kind: 'change'; edge: number; change: string }
  | { kind: 'close'; edge: number; parting: Parting }
  /** The call with this ticket is done. */
  | { kind: 'done'; ticket: number };

/**
 * Why an edge is let go: it may have missed something, and is to come back; it is to ask the root for another shard; there is
 * no room for what it wants; its stream is over.
 */
export type Parting = 'lost' | 'moved' | 'full' | 'over';

/** One call to the root: its number, which has to be durable before it is made, and what to tell. */
export interface FollowCall {
  seq: number;
  text: string;
}
";

/// A share of a bus's edges.
#[wasm_bindgen]
pub struct Shard(bus::Shard);

#[derive(Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Received {
    Followed {
        keeps_all: bool,
        change: Option<String>,
        session: Option<String>,
    },
    Detached,
    Dropped {
        code: &'static str,
    },
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Output {
    Send {
        message: String,
        #[serde(with = "serde_wasm_bindgen::preserve")]
        edges: Uint32Array,
    },
    Keep {
        edge: u32,
    },
    Change {
        edge: u32,
        change: String,
    },
    Close {
        edge: u32,
        parting: &'static str,
    },
    Done {
        ticket: u32,
    },
}

#[derive(Serialize)]
struct FollowCall {
    seq: f64,
    text: String,
}

#[wasm_bindgen]
impl Shard {
    /// A shard that begins, whose last call had the number `seq`.
    #[wasm_bindgen(constructor)]
    pub fn new(seq: f64) -> Self {
        Self(bus::Shard::new(at(seq).0))
    }

    /// A shard that was put aside at `position` of `epoch` while its connections stayed open.
    pub fn woken(seq: f64, epoch: &str, position: f64) -> Self {
        let mark = Mark {
            epoch: epoch.into(),
            position: at(position),
        };
        Self(bus::Shard::new(at(seq).0).woken(mark))
    }

    /// Bounds the names of all edges together to `most` bytes, for at most so many edges; before any edge is there.
    pub fn bounded(self, most: usize, edges: usize) -> Self {
        Self(self.0.with_room(most, edges))
    }

    /// For how many milliseconds edges have to be few before the root is told; before any edge is there.
    pub fn patient(self, ms: f64) -> Self {
        Self(self.0.with_patience(millis(ms)))
    }

    /// Bytes that the names of all edges count.
    #[wasm_bindgen(getter)]
    pub fn names(&self) -> usize {
        self.0.registry().names()
    }

    /// What an edge follows, for `restore`: JSON texts of bounded size.
    pub fn kept(&self, edge: u32) -> Vec<String> {
        self.0.registry().kept(EdgeId(edge))
    }

    /// An edge of before this shard was put aside: what `kept` gave of it, then each `change` since; what `last` and `seq` said.
    pub fn restore(
        &mut self,
        kept: Vec<String>,
        last: Option<f64>,
        seq: f64,
        session: Option<String>,
    ) -> Result<u32, JsValue> {
        let texts = kept.iter().map(String::as_str);
        let (last, seq) = (last.map(at), at(seq).0);
        let topics = topics_of(texts).map_err(refused)?;
        Ok(self.0.restore(&topics, last, seq, session.as_deref()).0)
    }

    /// A connection came up; the answer is its number.
    pub fn connect(&mut self) -> u32 {
        self.0.connect().0
    }

    /// A frame came from an edge.
    #[wasm_bindgen(unchecked_return_type = "ShardReceived")]
    pub fn receive(&mut self, edge: u32, message: &str, now: f64) -> JsValue {
        let received = self.0.handle_message(EdgeId(edge), message, millis(now));
        object(&match received {
            Ok(bus::ShardReceived::Followed { keeps, session }) => Received::Followed {
                keeps_all: keeps == Keeps::Anew,
                change: change_of(&keeps),
                session: session.map(String::from),
            },
            Ok(bus::ShardReceived::Detached) => Received::Detached,
            Err(error) => Received::Dropped { code: error.code() },
        })
    }

    /// A connection went away.
    pub fn disconnect(&mut self, edge: u32, now: f64) {
        self.0.disconnect(EdgeId(edge), millis(now));
    }

    /// The root sent a batch; the answer to it.
    pub fn batch(&mut self, text: &str, now: f64) -> Result<String, JsValue> {
        self.0.handle_batch(text, millis(now)).map_err(refused)
    }

    /// The root says something about a session.
    pub fn session(&mut self, ticket: u32, text: &str) -> Result<(), JsValue> {
        self.0.handle_session_call(ticket, text).map_err(refused)
    }

    /// The next call to make; undefined: none now.
    #[wasm_bindgen(unchecked_return_type = "FollowCall | undefined")]
    pub fn call(&mut self, now: f64) -> JsValue {
        let call = self.0.poll_call(millis(now));
        optional(call.map(|bus::FollowCall { seq, text }| FollowCall {
            seq: number(Position(seq)),
            text,
        }))
    }

    /// The root answered a call.
    pub fn answered(&mut self, seq: f64, answer: &str, now: f64, random: f64) {
        self.0.handle_answer(at(seq).0, answer, millis(now), random);
    }

    /// A call failed.
    pub fn failed(&mut self, seq: f64, is_overloaded: bool, now: f64, random: f64) {
        self.0
            .handle_failure(at(seq).0, is_overloaded, millis(now), random);
    }

    /// When to call `timeout`, on the clock of the other calls; undefined: not now.
    #[wasm_bindgen(getter)]
    pub fn deadline(&self) -> Option<f64> {
        self.0.poll_timeout().map(time)
    }

    /// The moment of `deadline` has come.
    pub fn timeout(&mut self, now: f64, random: f64) {
        self.0.handle_timeout(millis(now), random);
    }

    /// The next thing to do.
    #[wasm_bindgen(unchecked_return_type = "ShardOutput | undefined")]
    pub fn output(&mut self) -> JsValue {
        optional(self.0.poll_output().map(Output::from))
    }

    /// The position of the last frame that an edge was sent.
    pub fn last(&self, edge: u32) -> Option<f64> {
        self.0.registry().last(EdgeId(edge)).map(number)
    }

    /// The number of what an edge said last.
    pub fn seq(&self, edge: u32) -> Option<f64> {
        self.0
            .registry()
            .seq(EdgeId(edge))
            .map(|seq| number(Position(seq)))
    }

    /// Which log it follows; undefined until the root has told.
    #[wasm_bindgen(getter)]
    pub fn epoch(&self) -> Option<String> {
        self.0.mark().map(|mark| (*mark.epoch).to_owned())
    }

    /// Up to where everything has come that it follows.
    #[wasm_bindgen(getter)]
    pub fn position(&self) -> Option<f64> {
        self.0.mark().map(|mark| number(mark.position))
    }

    /// How many edges have attached.
    #[wasm_bindgen(getter)]
    pub fn attached(&self) -> usize {
        self.0.registry().attached()
    }

    /// Whether it holds no edges any more, for good.
    #[wasm_bindgen(getter, js_name = isRetired)]
    pub fn is_retired(&self) -> bool {
        self.0.is_retired()
    }
}

impl From<bus::ShardOutput> for Output {
    fn from(output: bus::ShardOutput) -> Self {
        match output {
            bus::ShardOutput::Send(delivery) => {
                let Delivery { message, edges } = delivery.into();
                Self::Send { message, edges }
            }
            bus::ShardOutput::Keep(edge) => Self::Keep { edge: edge.0 },
            bus::ShardOutput::Change(edge, delta) => Self::Change {
                edge: edge.0,
                change: delta.to_json(),
            },
            bus::ShardOutput::Close(edge, parting) => Self::Close {
                edge: edge.0,
                parting: match parting {
                    bus::Parting::Lost => "lost",
                    bus::Parting::Moved => "moved",
                    bus::Parting::Full => "full",
                    bus::Parting::Over => "over",
                },
            },
            bus::ShardOutput::Done(ticket) => Self::Done { ticket },
        }
    }
}
