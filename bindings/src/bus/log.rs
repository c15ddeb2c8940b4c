use js_sys::Uint32Array;
use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::{self, EdgeId, Keeps, Mark, Position},
    event::ServerEvent,
    session::Sessions,
    wire::topics_of,
};

use crate::{error::coded, number::millis, object::object, text::event_of};

use super::{at, number, refused, rows::Rows};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** What a frame from an edge led to. */
export type Received =
  | ({ kind: 'followed' } & Following)
  /** There is no room for what the edge wants: it is no longer known, and its connection is to be closed. */
  | { kind: 'full' }
  /** The session whose stream the edge is for is over, or another principal's: its connection is to be closed. */
  | { kind: 'released' }
  /** The edge asked to be let go. */
  | { kind: 'detached' }
  /** The frame had to be dropped. */
  | { kind: 'dropped'; code: string };

/** An edge or a shard follows something else from now on. `Bus.finish` gives the answer, after what it needs was pushed. */
export interface Following {
  /** All that `Bus.kept` gives of the edge is to be kept. */
  keepsAll: boolean;
  /** How what is kept of the edge has changed, as JSON text. */
  change: string | undefined;
  /** The session whose stream the edge is for, as its claim says, where the edge has begun anew. */
  session: string | undefined;
  /** The events after this position are to be pushed. */
  replayAfter: number | undefined;
}

/** One published event. */
export interface Publication {
  /** Its place in the log. */
  position: number;
  /** Each frame with the numbers of the edges that get it. */
  deliveries: { message: string; edges: Uint32Array }[];
}
";

/// A bus without its I/O.
#[wasm_bindgen]
pub struct Bus {
    pub(crate) core: bus::Bus,
    pub(super) sessions: Option<Sessions<Rows>>,
    /// The answer to what was followed last, while it comes into being.
    reply: Option<bus::FollowReply>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Received {
    Followed(Following),
    Full,
    Released,
    Detached,
    Dropped { code: &'static str },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Following {
    keeps_all: bool,
    change: Option<String>,
    session: Option<String>,
    replay_after: Option<f64>,
}

#[derive(Serialize)]
struct Publication {
    position: f64,
    deliveries: Vec<Delivery>,
}

#[derive(Serialize)]
pub(super) struct Delivery {
    pub(super) message: String,
    #[serde(with = "serde_wasm_bindgen::preserve")]
    pub(super) edges: Uint32Array,
}

#[wasm_bindgen]
impl Bus {
    /// A bus whose log ends at `position` of `epoch` and holds every event after `floor`.
    #[wasm_bindgen(constructor)]
    pub fn new(epoch: &str, position: f64, floor: f64) -> Self {
        let core = bus::Bus::new(Mark {
            epoch: epoch.into(),
            position: at(position),
        });
        Self {
            core: core.with_floor(at(floor)),
            sessions: None,
            reply: None,
        }
    }

    /// Bounds the names of all edges together to `most` bytes, for at most so many edges; before any edge is there.
    #[wasm_bindgen(js_name = setRoom)]
    pub fn set_room(&mut self, most: usize, edges: usize) {
        self.core.set_room(most, edges);
    }

    /// What an edge follows, for `restore`: JSON texts of bounded size.
    pub fn kept(&self, edge: u32) -> Vec<String> {
        self.core.registry().kept(EdgeId(edge))
    }

    /// The log has let go of events: it holds every one after `floor`.
    pub fn trimmed(&mut self, floor: f64) {
        self.core.handle_trimmed(at(floor));
    }

    /// What the streams of all edges and shards want together: the JSON text of a filter.
    #[wasm_bindgen(getter)]
    pub fn wanted(&self) -> String {
        self.core.wanted().to_json()
    }

    /// A connection came up; the answer is its number.
    pub fn connect(&mut self) -> u32 {
        self.core.connect().0
    }

    /// An edge of before a restart: what `kept` gave of it, then each `change` of `Following` since; what `last` and `seq` said, and
    /// the session that `Following` told.
    pub fn restore(
        &mut self,
        kept: Vec<String>,
        last: Option<f64>,
        seq: f64,
        session: Option<String>,
    ) -> Result<u32, JsValue> {
        let texts = kept.iter().map(String::as_str);
        let topics = topics_of(texts).map_err(refused)?;
        let edge = self.core.restore(&topics, last.map(at), at(seq).0);
        if let Some(session) = session
            && !self.restore_session(&session, edge)?
        {
            self.core.disconnect(edge);
            return Err(coded("session-over", "the session of this edge is over"));
        }
        Ok(edge.0)
    }

    /// The position of the last frame that an edge was sent.
    pub fn last(&self, edge: u32) -> Option<f64> {
        self.core.registry().last(EdgeId(edge)).map(number)
    }

    /// The number of what an edge said last.
    pub fn seq(&self, edge: u32) -> Option<f64> {
        self.core
            .registry()
            .seq(EdgeId(edge))
            .map(|seq| number(Position(seq)))
    }

    /// A frame came from an edge, at `now` of the clock of the sessions, whose store may throw.
    #[wasm_bindgen(unchecked_return_type = "Received")]
    pub fn receive(&mut self, edge: u32, message: &str, now: f64) -> Result<JsValue, JsValue> {
        let received = self.core.handle_message(EdgeId(edge), message);
        Ok(object(&match received {
            Ok(bus::Received::Followed(reply)) => self
                .follows(*reply, now)?
                .map_or(Received::Released, Received::Followed),
            Ok(bus::Received::Full) => Received::Full,
            Ok(bus::Received::Detached) => Received::Detached,
            Err(error) => Received::Dropped { code: error.code() },
        }))
    }

    /// The next event of the log, as JSON text, for who follows.
    #[wasm_bindgen(js_name = pushEvent)]
    pub fn push_event(&mut self, position: f64, event: &str) -> Result<(), JsValue> {
        let event = event_of(event)?;
        if let Some(reply) = &mut self.reply {
            reply.push_event(&self.core, at(position), &event);
        }
        Ok(())
    }

    /// What to send to who follows. For a shard one text.
    pub fn finish(&mut self) -> Vec<String> {
        let reply = self.reply.take();
        reply.map_or_else(Vec::new, |reply| reply.finish(&mut self.core))
    }

    /// Whether it is known what the log tells; if not, `recall` comes before `missed`.
    #[wasm_bindgen(getter)]
    pub fn recalls(&self) -> bool {
        self.core.recalls()
    }

    /// The next event of the log, as JSON text.
    pub fn recall(&mut self, position: f64, event: &str) -> Result<(), JsValue> {
        self.core.recall(at(position), &event_of(event)?);
        Ok(())
    }

    /// The positions of the events after `after` that an edge is to be told of, ascending.
    pub fn missed(&self, edge: u32, after: f64) -> Vec<f64> {
        let positions = self.core.missed(EdgeId(edge), at(after)).into_iter();
        positions.map(number).collect()
    }

    /// A connection went away, at `now` of the clock of the sessions, whose store may throw.
    pub fn disconnect(&mut self, edge: u32, now: f64) -> Result<(), JsValue> {
        let edge = EdgeId(edge);
        self.core.disconnect(edge);
        match &mut self.sessions {
            Some(sessions) => sessions.handle_left(edge, millis(now)),
            None => Ok(()),
        }
    }

    /// An event, as JSON text, was published, `at` so many milliseconds after 1970.
    #[wasm_bindgen(unchecked_return_type = "Publication")]
    pub fn publish(&mut self, event: &str, at: f64) -> Result<JsValue, JsValue> {
        let event: ServerEvent = event_of(event)?;
        let publication = self.core.publish_at(&event, Some(millis(at)));
        let deliveries = publication.deliveries.into_iter();
        Ok(object(&Publication {
            position: number(publication.position),
            deliveries: deliveries.map(Delivery::from).collect(),
        }))
    }

    /// How many edges are attached.
    #[wasm_bindgen(getter)]
    pub fn attached(&self) -> usize {
        self.core.registry().attached()
    }
}

impl Bus {
    /// What the answer needs, which is kept until `finish`; `None`: who follows is to be let go.
    pub(super) fn follows(
        &mut self,
        mut reply: bus::FollowReply,
        now: f64,
    ) -> Result<Option<Following>, JsValue> {
        if let Some(sessions) = &mut self.sessions
            && !sessions.handle_follow(&mut reply, &mut self.core, millis(now))?
        {
            return Ok(None);
        }
        let following = Following {
            keeps_all: *reply.keeps() == Keeps::Anew,
            change: change_of(reply.keeps()),
            session: reply.joined().first().map(|claim| (**claim).to_owned()),
            replay_after: reply.replay_after().map(number),
        };
        self.reply = Some(reply);
        Ok(Some(following))
    }
}

impl From<bus::Delivery> for Delivery {
    fn from(delivery: bus::Delivery) -> Self {
        let edges: Vec<u32> = delivery.edges.iter().map(|edge| edge.0).collect();
        Self {
            message: delivery.message,
            edges: edges.as_slice().into(),
        }
    }
}

/// How what is kept of an edge has changed, as JSON text.
pub(super) fn change_of(keeps: &Keeps) -> Option<String> {
    match keeps {
        Keeps::Delta(delta) => Some(delta.to_json()),
        Keeps::Nothing | Keeps::Anew => None,
    }
}
