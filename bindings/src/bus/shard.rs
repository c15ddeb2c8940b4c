use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::{self, EdgeId, Keeps, Mark, Position},
    wire::ProtocolError,
};

use crate::{number::millis, number::time};

use super::{at, number, shards::refused};

/// A share of a bus's edges.
#[wasm_bindgen]
pub struct Shard(bus::Shard);

/// What a frame from an edge led to.
#[wasm_bindgen]
pub struct ShardReceived(Result<bus::ShardReceived, ProtocolError>);

/// What a shard wants done.
#[wasm_bindgen]
pub struct ShardOutput(bus::ShardOutput);

/// What kind of output it is.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum ShardOutputKind {
    /// Send `message` to `edges`.
    Send,
    /// Keep what `Shard.kept` gives of the only one of `edges`.
    Keep,
    /// Keep that what the only one of `edges` wants has changed by `change`.
    Change,
    /// Close the only one of `edges`, for the reason `parting`.
    Close,
    /// The call with the number `ticket` is done.
    Done,
}

/// Why an edge is let go.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Parting {
    /// It may have missed something, and is to come back.
    Lost,
    /// It is to ask the root for another shard.
    Moved,
    /// There is no room for what it wants.
    Full,
    /// Its stream is over.
    Over,
}

/// One call to the root.
#[wasm_bindgen]
pub struct FollowCall(bus::FollowCall);

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
        self.0.names()
    }

    /// What an edge follows, for `restore`: JSON texts of bounded size.
    pub fn kept(&self, edge: u32) -> Vec<String> {
        self.0.kept(EdgeId(edge))
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
        let edge = self.0.restore_kept(texts, last, seq, session.as_deref());
        edge.map(|edge| edge.0).map_err(refused)
    }

    /// A connection came up; the answer is its number.
    pub fn connect(&mut self) -> u32 {
        self.0.connect().0
    }

    /// A frame came from an edge.
    pub fn receive(&mut self, edge: u32, message: &str, now: f64) -> ShardReceived {
        let received = self.0.handle_message(EdgeId(edge), message, millis(now));
        ShardReceived(received)
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
    pub fn call(&mut self, now: f64) -> Option<FollowCall> {
        self.0.poll_call(millis(now)).map(FollowCall)
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
    pub fn output(&mut self) -> Option<ShardOutput> {
        self.0.poll_output().map(ShardOutput)
    }

    /// The position of the last frame that an edge was sent.
    pub fn last(&self, edge: u32) -> Option<f64> {
        self.0.last(EdgeId(edge)).map(number)
    }

    /// The number of what an edge said last.
    pub fn seq(&self, edge: u32) -> Option<f64> {
        self.0.seq(EdgeId(edge)).map(|seq| number(Position(seq)))
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
        self.0.attached()
    }

    /// Whether it holds no edges any more, for good.
    #[wasm_bindgen(getter, js_name = isRetired)]
    pub fn is_retired(&self) -> bool {
        self.0.is_retired()
    }
}

#[wasm_bindgen]
impl ShardReceived {
    /// Whether all that `Shard.kept` gives of the edge is to be kept.
    #[wasm_bindgen(getter, js_name = keepsAll)]
    pub fn keeps_all(&self) -> bool {
        self.keeps() == Some(&Keeps::Anew)
    }

    /// How what is kept of the edge has changed, as JSON text, for `restore`.
    #[wasm_bindgen(getter)]
    pub fn change(&self) -> Option<String> {
        match self.keeps()? {
            Keeps::Delta(delta) => Some(delta.to_json()),
            _ => None,
        }
    }

    /// The session whose stream the edge holds.
    #[wasm_bindgen(getter)]
    pub fn session(&self) -> Option<String> {
        match &self.0 {
            Ok(bus::ShardReceived::Followed { session, .. }) => {
                session.as_deref().map(str::to_owned)
            }
            _ => None,
        }
    }

    /// Whether the edge asked to be let go.
    #[wasm_bindgen(getter, js_name = isDetached)]
    pub fn is_detached(&self) -> bool {
        self.0 == Ok(bus::ShardReceived::Detached)
    }

    /// The code of the error, if the frame had to be dropped.
    #[wasm_bindgen(getter)]
    pub fn dropped(&self) -> Option<String> {
        self.0.as_ref().err().map(|error| error.code().to_owned())
    }
}

impl ShardReceived {
    fn keeps(&self) -> Option<&Keeps> {
        match &self.0 {
            Ok(bus::ShardReceived::Followed { keeps, .. }) => Some(keeps),
            _ => None,
        }
    }
}

#[wasm_bindgen]
impl ShardOutput {
    /// What kind of output it is.
    #[wasm_bindgen(getter)]
    pub fn kind(&self) -> ShardOutputKind {
        match self.0 {
            bus::ShardOutput::Send(_) => ShardOutputKind::Send,
            bus::ShardOutput::Keep(_) => ShardOutputKind::Keep,
            bus::ShardOutput::Change(..) => ShardOutputKind::Change,
            bus::ShardOutput::Close(..) => ShardOutputKind::Close,
            bus::ShardOutput::Done(_) => ShardOutputKind::Done,
        }
    }

    /// The edges that it is about.
    #[wasm_bindgen(getter)]
    pub fn edges(&self) -> Vec<u32> {
        match &self.0 {
            bus::ShardOutput::Send(delivery) => delivery.edges.iter().map(|edge| edge.0).collect(),
            bus::ShardOutput::Keep(edge)
            | bus::ShardOutput::Change(edge, _)
            | bus::ShardOutput::Close(edge, _) => vec![edge.0],
            bus::ShardOutput::Done(_) => Vec::new(),
        }
    }

    /// The frame to send.
    #[wasm_bindgen(getter)]
    pub fn message(&self) -> Option<String> {
        match &self.0 {
            bus::ShardOutput::Send(delivery) => Some(delivery.message.clone()),
            _ => None,
        }
    }

    /// The change to keep.
    #[wasm_bindgen(getter)]
    pub fn change(&self) -> Option<String> {
        match &self.0 {
            bus::ShardOutput::Change(_, delta) => Some(delta.to_json()),
            _ => None,
        }
    }

    /// Why to close.
    #[wasm_bindgen(getter)]
    pub fn parting(&self) -> Option<Parting> {
        match &self.0 {
            bus::ShardOutput::Close(_, bus::Parting::Lost) => Some(Parting::Lost),
            bus::ShardOutput::Close(_, bus::Parting::Moved) => Some(Parting::Moved),
            bus::ShardOutput::Close(_, bus::Parting::Full) => Some(Parting::Full),
            bus::ShardOutput::Close(_, bus::Parting::Over) => Some(Parting::Over),
            _ => None,
        }
    }

    /// The call that is done.
    #[wasm_bindgen(getter)]
    pub fn ticket(&self) -> Option<u32> {
        match self.0 {
            bus::ShardOutput::Done(ticket) => Some(ticket),
            _ => None,
        }
    }
}

#[wasm_bindgen]
impl FollowCall {
    /// The number of the call, which has to be durable before it is made.
    #[wasm_bindgen(getter)]
    pub fn seq(&self) -> f64 {
        number(Position(self.0.seq))
    }

    /// What to tell the root.
    #[wasm_bindgen(getter)]
    pub fn text(&self) -> String {
        self.0.text.clone()
    }
}
