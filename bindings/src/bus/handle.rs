use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::{self, EdgeId, Registry, ShardId},
    clock::Millis,
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
  /** When to call `Bus.output` with `random`, on the clock of its `now`. */
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
    /// Creates a bus on its log. It keeps sessions if there are `rows` for them. The names of all
    /// edges together are limited to `nameBytes`, divided among at most `edges`; undefined: they
    /// are not limited.
    #[wasm_bindgen(constructor)]
    pub fn new(
        log: Log,
        rows: Option<Rows>,
        #[wasm_bindgen(js_name = nameBytes)] name_bytes: Option<usize>,
        edges: Option<usize>,
    ) -> Self {
        let mut root = Root::new(log, rows);
        if let Some((name_bytes, edges)) = name_bytes.zip(edges) {
            root.bus_mut().set_room(name_bytes, edges);
        }
        Self(Core::Root(Box::new(root)))
    }

    /// Creates a shard whose last call had the number `seq`. `epoch` and `position` restore a shard
    /// that hibernated with open connections; undefined for a new one. The root learns that the
    /// shard has few edges once this has lasted for `span` milliseconds. `nameBytes` and `edges`
    /// are as for a bus.
    pub fn shard(
        seq: f64,
        epoch: Option<String>,
        position: f64,
        span: f64,
        #[wasm_bindgen(js_name = nameBytes)] name_bytes: usize,
        edges: usize,
    ) -> Self {
        let mut shard = bus::Shard::new(at(seq).0).with_low_span(millis(span));
        shard.set_room(name_bytes, edges);
        let shard = match epoch {
            Some(epoch) => shard.woken(Cursor {
                epoch: epoch.into(),
                position: at(position),
            }),
            None => shard,
        };
        Self(Core::Shard(Box::new(shard)))
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

    /// Returns the next thing to do. Pass `random`, drawn from [0, 1), if the deadline in
    /// `BusState` has come. At a bus, `sessionNow` is on the clock of the sessions, and their store
    /// may throw.
    #[wasm_bindgen(unchecked_return_type = "BusOutput | undefined")]
    pub fn output(
        &mut self,
        now: f64,
        #[wasm_bindgen(js_name = sessionNow)] session_now: f64,
        random: Option<f64>,
    ) -> Result<JsValue, JsValue> {
        let now = millis(now);
        if let Some(random) = random {
            self.handle_timeout(now, random);
        }
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

    /// Handles the outcome of the call `call`: at a bus to the shard `to`, at a shard to its root.
    /// `response` is undefined if the call failed, because the callee was overloaded if
    /// `isOverloaded`.
    pub fn responded(
        &mut self,
        to: u32,
        call: f64,
        response: Option<String>,
        #[wasm_bindgen(js_name = isOverloaded)] is_overloaded: bool,
        now: f64,
        random: f64,
    ) {
        let (call, now) = (at(call).0, millis(now));
        match &mut self.0 {
            Core::Root(root) => {
                let (shard, call) = (ShardId(to), u32::try_from(call).unwrap_or_default());
                let bus = root.bus_mut();
                if let Some(text) = response {
                    // A response that cannot be read counts as a failure, which this handles.
                    bus.handle_ack(shard, call, &text, now, random).ok();
                } else {
                    bus.handle_failure(shard, call, is_overloaded, now, random);
                }
            }
            Core::Shard(shard) => match response {
                Some(text) => shard.handle_response(call, &text, now, random),
                None => shard.handle_failure(call, is_overloaded, now, random),
            },
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

    /// Handles a call: at a bus the `follow` of the shard `from`, at a shard a `batch` of its root.
    /// Returns the response; `now` is as in `receive`.
    pub fn called(&mut self, from: u32, text: &str, now: f64) -> Result<String, JsValue> {
        let now = millis(now);
        let response = match &mut self.0 {
            Core::Root(root) => root.handle_follow(ShardId(from), text, now)?,
            Core::Shard(shard) => shard.handle_batch(text, now),
        };
        response.map_err(refused)
    }

    /// Handles a session call from the root.
    pub fn session(&mut self, ticket: u32, text: &str) -> Result<(), JsValue> {
        let Core::Shard(shard) = &mut self.0 else {
            return Err(out_of_place("this is not a shard"));
        };
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

    fn handle_timeout(&mut self, now: Millis, random: f64) {
        match &mut self.0 {
            Core::Root(root) => root.bus_mut().handle_timeout(now, random),
            Core::Shard(shard) => shard.handle_timeout(now, random),
        }
    }
}
