use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::{self, EdgeId, Registry, ShardId},
    position::{Cursor, Position},
    root,
    session::Sessions,
    topic::Topic,
    wire::{Claim, ProtocolError, decode_topics},
};

use crate::{
    error::{coded, out_of_place},
    number::{millis, time},
    object::{object, optional},
};

use super::{
    at,
    log::Log,
    number,
    output::{Output, Received},
    refused,
    rows::Rows,
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The state of a bus or a shard. */
export interface BusState {
  /** When to call `Bus.timeout`, on the clock of the other calls. */
  deadline?: number;
  /** Whether every shard of a bus has received everything. */
  isSettled: boolean;
  /** Whether a shard permanently holds no edges. */
  isRetired: boolean;
  /**
   * The log that a shard follows, and the position up to which it has everything; absent until its
   * root has named them.
   */
  epoch?: string;
  position?: number;
  /** The number of attached edges. */
  attached: number;
}

/** What to store about an edge. */
export interface KeptEdge {
  /** The position of the last frame that was sent to it. */
  last: number | undefined;
  /** The number of its last message. */
  seq: number | undefined;
  /** The topics that it follows, as JSON texts of bounded size. */
  topics?: string[];
}
";

/// A bus, or one of its shards, without its I/O. Calls that do not apply to it throw.
#[wasm_bindgen]
pub struct Bus(Core);

pub(super) type Root = root::Root<Log, Rows>;

enum Core {
    Root(Box<Root>),
    Shard(Box<bus::Shard>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct State {
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<f64>,
    is_settled: bool,
    is_retired: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<f64>,
    attached: usize,
}

#[derive(Serialize)]
struct KeptEdge {
    last: Option<f64>,
    seq: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topics: Option<Vec<String>>,
}

#[wasm_bindgen]
impl Bus {
    /// Creates a bus on its log. It keeps sessions if there are `rows` for them.
    #[wasm_bindgen(constructor)]
    pub fn new(log: Log, rows: Option<Rows>) -> Self {
        Self(Core::Root(Box::new(Root::new(log, rows))))
    }

    /// Creates a shard whose last call had the number `seq`. `epoch` and `position` restore a shard
    /// that hibernated with open connections; undefined for a new one. The root learns that the
    /// shard has few edges once this has lasted for `span` milliseconds.
    pub fn shard(seq: f64, epoch: Option<String>, position: f64, span: f64) -> Self {
        let shard = bus::Shard::new(at(seq).0).with_low_span(millis(span));
        let shard = match epoch {
            Some(epoch) => shard.woken(Cursor {
                epoch: epoch.into(),
                position: at(position),
            }),
            None => shard,
        };
        Self(Core::Shard(Box::new(shard)))
    }

    /// Limits the names of all edges together to `max` bytes, and the number of edges. Call it
    /// before any edge connects.
    #[wasm_bindgen(js_name = setRoom)]
    pub fn set_room(&mut self, max: usize, edges: usize) {
        match &mut self.0 {
            Core::Root(root) => root.bus_mut().set_room(max, edges),
            Core::Shard(shard) => shard.set_room(max, edges),
        }
    }

    /// Handles a new connection. Returns its number. To restore a connection from before a restart,
    /// pass the topics that `kept` returned and each later `change`, one per line, with the other
    /// members and the session.
    pub fn connect(
        &mut self,
        kept: Option<String>,
        last: Option<f64>,
        seq: f64,
        session: Option<String>,
    ) -> Result<u32, JsValue> {
        let Some(kept) = kept else {
            return Ok(match &mut self.0 {
                Core::Root(root) => root.bus_mut().connect().0,
                Core::Shard(shard) => shard.connect().0,
            });
        };
        let topics = decode_topics(kept.lines()).map_err(refused)?;
        let (last, seq) = (last.map(at), at(seq).0);
        let session = session.as_deref().map(|text| {
            let claim = Claim::from_text(text);
            claim.ok_or_else(|| refused(ProtocolError::Malformed))
        });
        let session = session.transpose()?;
        match &mut self.0 {
            Core::Root(root) => {
                let edge = root.restore(&topics, last, seq, session.as_ref())?;
                let over = || coded("bus-released", "the session of this edge is over");
                Ok(edge.ok_or_else(over)?.0)
            }
            Core::Shard(shard) => Ok(shard.restore(&topics, last, seq, session).0),
        }
    }

    /// Handles a frame from an edge. At a bus, `now` is on the clock of the sessions, and their
    /// store may throw; at a shard, it is on the clock of the other calls.
    #[wasm_bindgen(unchecked_return_type = "Received")]
    pub fn receive(&mut self, edge: u32, message: &str, now: f64) -> Result<JsValue, JsValue> {
        let (edge, now) = (EdgeId(edge), millis(now));
        let received = match &mut self.0 {
            Core::Root(root) => Received::from_root(root.handle_message(edge, message, now)?),
            Core::Shard(shard) => match shard.handle_message(edge, message, now) {
                Ok(received) => Received::from_shard(received),
                Err(error) => Some(Received::dropped(error)),
            },
        };
        Ok(optional(received))
    }

    /// Handles a closed connection; `now` is as in `receive`.
    pub fn disconnect(&mut self, edge: u32, now: f64) -> Result<(), JsValue> {
        let (edge, now) = (EdgeId(edge), millis(now));
        match &mut self.0 {
            Core::Root(root) => root.disconnect(edge, now),
            Core::Shard(shard) => {
                shard.disconnect(edge, now);
                Ok(())
            }
        }
    }

    /// Returns what to store about an edge for `connect`, with its topics if `isWhole`.
    #[wasm_bindgen(unchecked_return_type = "KeptEdge")]
    pub fn kept(&self, edge: u32, #[wasm_bindgen(js_name = isWhole)] is_whole: bool) -> JsValue {
        let (registry, edge) = (self.registry(), EdgeId(edge));
        let seq = registry.seq(edge);
        object(&KeptEdge {
            last: registry.last(edge).map(number),
            seq: seq.map(|seq| number(Position(seq))),
            topics: is_whole.then(|| registry.stored_topics(edge)),
        })
    }

    /// Returns the next thing to do. At a bus, `sessionNow` is on the clock of the sessions, and
    /// their store may throw.
    #[wasm_bindgen(unchecked_return_type = "BusOutput | undefined")]
    pub fn output(
        &mut self,
        now: f64,
        #[wasm_bindgen(js_name = sessionNow)] session_now: f64,
    ) -> Result<JsValue, JsValue> {
        let now = millis(now);
        Ok(optional(match &mut self.0 {
            Core::Root(root) => root
                .poll_output(now, millis(session_now))?
                .and_then(Output::from_root),
            Core::Shard(shard) => match shard.poll_output() {
                Some(output) => Output::from_shard(output),
                None => shard.poll_call(now).map(Output::from),
            },
        }))
    }

    /// Returns the state.
    #[wasm_bindgen(unchecked_return_type = "BusState")]
    pub fn state(&self) -> JsValue {
        let (deadline, is_settled, is_retired, cursor) = match &self.0 {
            Core::Root(root) => (
                root.bus().poll_timeout(),
                root.bus().is_settled(),
                false,
                None,
            ),
            Core::Shard(shard) => (
                shard.poll_timeout(),
                shard.is_settled(),
                shard.is_retired(),
                shard.cursor(),
            ),
        };
        object(&State {
            deadline: deadline.map(time),
            is_settled,
            is_retired,
            epoch: cursor.map(|cursor| (*cursor.epoch).to_owned()),
            position: cursor.map(|cursor| number(cursor.position)),
            attached: self.registry().attached(),
        })
    }

    /// Handles the deadline of `BusState`.
    pub fn timeout(&mut self, now: f64, random: f64) {
        match &mut self.0 {
            Core::Root(root) => root.bus_mut().handle_timeout(millis(now), random),
            Core::Shard(shard) => shard.handle_timeout(millis(now), random),
        }
    }

    /// Handles the response to the call `call`: at a bus from the shard `to`, at a shard from its
    /// root. Returns the error code if a bus cannot read the response.
    pub fn responded(
        &mut self,
        to: u32,
        call: f64,
        response: &str,
        now: f64,
        random: f64,
    ) -> Option<String> {
        let (call, now) = (at(call).0, millis(now));
        match &mut self.0 {
            Core::Root(root) => {
                let call = u32::try_from(call).unwrap_or_default();
                let bus = root.bus_mut();
                let outcome = bus.handle_ack(ShardId(to), call, response, now, random);
                outcome.err().map(|error| error.code().to_owned())
            }
            Core::Shard(shard) => {
                shard.handle_response(call, response, now, random);
                None
            }
        }
    }

    /// Handles the failure of a call.
    pub fn failed(
        &mut self,
        to: u32,
        call: f64,
        #[wasm_bindgen(js_name = isOverloaded)] is_overloaded: bool,
        now: f64,
        random: f64,
    ) {
        let (call, now) = (at(call).0, millis(now));
        match &mut self.0 {
            Core::Root(root) => {
                let call = u32::try_from(call).unwrap_or_default();
                root.bus_mut()
                    .handle_failure(ShardId(to), call, is_overloaded, now, random);
            }
            Core::Shard(shard) => shard.handle_failure(call, is_overloaded, now, random),
        }
    }

    /// Returns the union of what the streams of all edges and shards subscribe to, as the JSON text
    /// of a filter. With `isChange`, returns what they have begun or ceased to subscribe to since
    /// the last such call; undefined the first time: anything may have changed. Outputs may ask
    /// shards whether they still have their edges; `now` is in milliseconds since 1970.
    pub fn wanted(
        &mut self,
        #[wasm_bindgen(js_name = isChange)] is_change: bool,
        now: f64,
    ) -> Result<Option<String>, JsValue> {
        let core = self.root()?.bus_mut();
        core.ask_in_turn(millis(now));
        let wanted = if is_change {
            core.poll_wanted()
        } else {
            Some(core.wanted())
        };
        Ok(wanted.map(|wanted| wanted.to_json()))
    }

    /// Whether any stream subscribes to the topic with this text; false for a text that is no
    /// topic.
    pub fn wants(&mut self, topic: &str) -> Result<bool, JsValue> {
        let root = self.root()?;
        Ok(Topic::from_text(topic).is_some_and(|topic| root.bus().wants(&topic)))
    }

    /// Handles a batch from the root. Returns the response to it.
    pub fn batch(&mut self, text: &str, now: f64) -> Result<String, JsValue> {
        let shard = self.as_shard()?;
        shard.handle_batch(text, millis(now)).map_err(refused)
    }

    /// Handles a session call from the root.
    pub fn session(&mut self, ticket: u32, text: &str) -> Result<(), JsValue> {
        let shard = self.as_shard()?;
        shard.handle_session_call(ticket, text).map_err(refused)
    }
}

impl Bus {
    fn registry(&self) -> &Registry {
        match &self.0 {
            Core::Root(root) => root.bus().registry(),
            Core::Shard(shard) => shard.registry(),
        }
    }

    pub(super) fn root(&mut self) -> Result<&mut Root, JsValue> {
        match &mut self.0 {
            Core::Root(root) => Ok(root),
            Core::Shard(_) => Err(out_of_place("this is a shard")),
        }
    }

    pub(super) fn sessions(&mut self) -> Result<&mut Sessions<Rows>, JsValue> {
        let sessions = self.root()?.sessions_mut();
        sessions.ok_or_else(|| out_of_place("this bus keeps no sessions"))
    }

    fn as_shard(&mut self) -> Result<&mut bus::Shard, JsValue> {
        match &mut self.0 {
            Core::Root(_) => Err(out_of_place("this is not a shard")),
            Core::Shard(shard) => Ok(shard),
        }
    }
}
