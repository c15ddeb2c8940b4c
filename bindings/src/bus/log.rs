use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::{self, EdgeId, Mark, Position},
    event::ServerEvent,
    legacy::event_id,
    wire::ProtocolError,
};

use crate::{
    number::millis,
    text::{event_of, uris_of},
};

use super::{
    at, number,
    shards::{FollowReply, refused},
};

/// A bus without its I/O.
#[wasm_bindgen]
pub struct Bus {
    pub(crate) core: bus::Bus,
    /// Of what was published last.
    deliveries: Vec<bus::Delivery>,
}

/// What a frame from an edge led to.
#[wasm_bindgen]
pub struct Received {
    kind: Kind,
    reply: Option<bus::FollowReply>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Followed,
    Full,
    Detached,
    Dropped(ProtocolError),
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
            deliveries: Vec::new(),
        }
    }

    /// Bounds the names of all edges together to `most` bytes, for at most so many edges; before any edge is there.
    #[wasm_bindgen(js_name = setRoom)]
    pub fn set_room(&mut self, most: usize, edges: usize) {
        self.core.set_room(most, edges);
    }

    /// What an edge follows, for `restore`: JSON texts of bounded size.
    pub fn kept(&self, edge: u32) -> Vec<String> {
        self.core.kept(EdgeId(edge))
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

    /// An edge of before a restart: what `kept` gave of it, then each `change` of `FollowReply` since; what `last` and `seq` said.
    pub fn restore(
        &mut self,
        kept: Vec<String>,
        last: Option<f64>,
        seq: f64,
    ) -> Result<u32, JsValue> {
        let texts = kept.iter().map(String::as_str);
        let edge = self.core.restore_kept(texts, last.map(at), at(seq).0);
        edge.map(|edge| edge.0).map_err(refused)
    }

    /// The position of the last frame that an edge was sent.
    pub fn last(&self, edge: u32) -> Option<f64> {
        self.core.last(EdgeId(edge)).map(number)
    }

    /// The number of what an edge said last.
    pub fn seq(&self, edge: u32) -> Option<f64> {
        self.core.seq(EdgeId(edge)).map(|seq| number(Position(seq)))
    }

    /// A frame came from an edge.
    pub fn receive(&mut self, edge: u32, message: &str) -> Received {
        let received = self.core.handle_message(EdgeId(edge), message);
        let (kind, reply) = match received {
            Ok(bus::Received::Followed(reply)) => (Kind::Followed, Some(*reply)),
            Ok(bus::Received::Full) => (Kind::Full, None),
            Ok(bus::Received::Detached) => (Kind::Detached, None),
            Err(error) => (Kind::Dropped(error), None),
        };
        Received { kind, reply }
    }

    /// The session of an edge watches these URIs now, and while it `isHeld` its client is not
    /// ready; the answer is the frame to send.
    pub fn watch(
        &mut self,
        edge: u32,
        uris: Vec<String>,
        #[wasm_bindgen(js_name = isHeld)] is_held: bool,
    ) -> Option<String> {
        self.core.watch(EdgeId(edge), &uris_of(&uris), is_held)
    }

    /// The event id that says "everything published so far".
    #[wasm_bindgen(getter)]
    pub fn place(&self) -> String {
        event_id::write(Some(self.core.mark()))
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

    /// A connection went away.
    pub fn disconnect(&mut self, edge: u32) {
        self.core.disconnect(EdgeId(edge));
    }

    /// An event, as JSON text, was published, `at` so many milliseconds after 1970; the answer is its place in the log. Which edges get
    /// which frame say `deliveries`, `message` and `edges` until the next one.
    pub fn publish(&mut self, event: &str, at: f64) -> Result<f64, JsValue> {
        let event: ServerEvent = event_of(event)?;
        let publication = self.core.publish_at(&event, Some(millis(at)));
        self.deliveries = publication.deliveries;
        Ok(number(publication.position))
    }

    /// How many different frames carry what was published last.
    #[wasm_bindgen(getter)]
    pub fn deliveries(&self) -> usize {
        self.deliveries.len()
    }

    /// One of these frames.
    pub fn message(&self, delivery: usize) -> Option<String> {
        let delivery = self.deliveries.get(delivery)?;
        Some(delivery.message.clone())
    }

    /// The numbers of the edges that get that frame.
    pub fn edges(&self, delivery: usize) -> Option<Vec<u32>> {
        let delivery = self.deliveries.get(delivery)?;
        Some(delivery.edges.iter().map(|edge| edge.0).collect())
    }

    /// How many edges are attached.
    #[wasm_bindgen(getter)]
    pub fn attached(&self) -> usize {
        self.core.attached()
    }
}

#[wasm_bindgen]
impl Received {
    /// The answer to what the edge follows from now on, to be completed; once.
    pub fn reply(&mut self) -> Option<FollowReply> {
        self.reply.take().map(FollowReply)
    }

    /// Whether there is no room for what the edge wants: it is no longer known, and its connection is to be closed.
    #[wasm_bindgen(getter, js_name = isFull)]
    pub fn is_full(&self) -> bool {
        self.kind == Kind::Full
    }

    /// Whether the edge asked to be let go.
    #[wasm_bindgen(getter, js_name = isDetached)]
    pub fn is_detached(&self) -> bool {
        self.kind == Kind::Detached
    }

    /// The code of the error, if the frame had to be dropped.
    #[wasm_bindgen(getter)]
    pub fn dropped(&self) -> Option<String> {
        match self.kind {
            Kind::Dropped(error) => Some(error.code().to_owned()),
            _ => None,
        }
    }
}
