use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::{self, Home, Keeps, Position, ShardId},
    topic::Topic,
    wire::{ProtocolError, SessionCall, Watched},
};

use crate::{
    error::coded,
    number::millis,
    number::time,
    text::{event_of, uris_of},
};

use super::{at, log::Bus, number};

/// One call to a shard.
#[wasm_bindgen]
pub struct BatchCall(bus::BatchCall);

/// What has to be made durable.
#[wasm_bindgen]
pub struct Change(bus::Change);

/// What kind of change it is.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum ChangeKind {
    /// There is one more shard: `shard`, `continent`.
    Opened,
    /// `shard` takes no more edges.
    Leaving,
    /// There is one shard less: `shard`.
    Closed,
    /// `shard` follows `add` too and `drop` no more, as of the call `seq`; before that nothing, where it `isFresh`.
    Follows,
    /// Every shard has taken what was published up to `position`.
    Settled,
}

/// The answer to what an edge or a shard follows, while it comes into being.
#[wasm_bindgen]
pub struct FollowReply(pub(crate) bus::FollowReply);

#[wasm_bindgen]
impl Bus {
    /// The bus opens shards, the last of which had the number `last`; they have taken everything up to `settled`, and
    /// each takes `per_shard` edges. Before anything else of them is told.
    #[wasm_bindgen(js_name = setShards)]
    pub fn set_shards(&mut self, settled: f64, last: u32, per_shard: u32) {
        self.core.set_shards(at(settled), last, per_shard);
    }

    /// A shard that was there before a restart.
    #[wasm_bindgen(js_name = restoreShard)]
    pub fn restore_shard(&mut self, shard: u32, continent: &str, seq: f64, is_leaving: bool) {
        let seq = at(seq).0;
        self.core
            .restore_shard(ShardId(shard), continent, seq, is_leaving);
    }

    /// What a shard followed before a restart, as `Change.add` told it.
    #[wasm_bindgen(js_name = restoreTopic)]
    pub fn restore_topic(&mut self, shard: u32, topic: &str) {
        if let Some(topic) = Topic::from_text(topic) {
            self.core.restore_topic(ShardId(shard), topic);
        }
    }

    /// The events of the log that shards may not have taken come after this position; undefined: there is no shard.
    #[wasm_bindgen(js_name = restoreAfter)]
    pub fn restore_after(&mut self) -> Option<f64> {
        self.core.restore_after().map(number)
    }

    /// An event of the log that shards may not have taken.
    #[wasm_bindgen(js_name = restoreEvent)]
    pub fn restore_event(&mut self, position: f64, event: &str) -> Result<(), JsValue> {
        self.core.restore_event(at(position), &event_of(event)?);
        Ok(())
    }

    /// Where the next edge of a continent goes: the number of a shard, or 0 for the root itself,
    /// which holds `own` edges. The shard `full` has refused this one.
    pub fn home(&mut self, continent: &str, own: u32, full: Option<u32>) -> u32 {
        match self.core.place(continent, own, full.map(ShardId)) {
            Home::Root => 0,
            Home::Shard(shard) => shard.0,
        }
    }

    /// The next call to make; undefined: none now.
    pub fn batch(&mut self, now: f64) -> Option<BatchCall> {
        self.core.poll_batch(millis(now)).map(BatchCall)
    }

    /// A shard answered a call; the answer is the code of the error, if it made no sense.
    pub fn taken(
        &mut self,
        shard: u32,
        call: u32,
        answer: &str,
        now: f64,
        random: f64,
    ) -> Option<String> {
        let shard = ShardId(shard);
        let taken = self
            .core
            .handle_taken(shard, call, answer, millis(now), random);
        taken.err().map(|error| error.code().to_owned())
    }

    /// A call failed.
    pub fn failed(&mut self, shard: u32, call: u32, is_overloaded: bool, now: f64, random: f64) {
        let shard = ShardId(shard);
        self.core
            .handle_failure(shard, call, is_overloaded, millis(now), random);
    }

    /// When to call `timeout`, on the clock of the other calls; undefined: not now.
    #[wasm_bindgen(getter)]
    pub fn deadline(&self) -> Option<f64> {
        self.core.poll_timeout().map(time)
    }

    /// The moment of `deadline` has come.
    pub fn timeout(&mut self, now: f64, random: f64) {
        self.core.handle_timeout(millis(now), random);
    }

    /// A burst of events is over.
    pub fn settle(&mut self) {
        self.core.settle();
    }

    /// Whether every shard has taken everything.
    #[wasm_bindgen(getter, js_name = isSettled)]
    pub fn is_settled(&self) -> bool {
        self.core.is_settled()
    }

    /// The next thing to make durable.
    pub fn change(&mut self) -> Option<Change> {
        self.core.poll_change().map(Change)
    }

    /// Whether there is any shard.
    #[wasm_bindgen(getter, js_name = hasShards)]
    pub fn has_shards(&self) -> bool {
        self.core.has_shards()
    }

    /// How many edges a shard is known to hold; undefined until it has told.
    #[wasm_bindgen(js_name = edgesAt)]
    pub fn edges_at(&self, shard: u32) -> Option<u32> {
        let mut shards = self.core.shards();
        shards.find(|(id, ..)| id.0 == shard)?.2
    }

    /// A shard told what it follows.
    pub fn follow(&mut self, shard: u32, text: &str) -> Result<FollowReply, JsValue> {
        let reply = self.core.handle_follow(ShardId(shard), text);
        reply.map(FollowReply).map_err(refused)
    }
}

#[wasm_bindgen]
impl FollowReply {
    /// The events after this position are to be pushed, after the sessions; undefined: none.
    #[wasm_bindgen(getter, js_name = replayAfter)]
    pub fn replay_after(&self) -> Option<f64> {
        self.0.replay_after().map(number)
    }

    /// Whether all that `Bus.kept` gives of the edge is to be kept.
    #[wasm_bindgen(getter, js_name = keepsAll)]
    pub fn keeps_all(&self) -> bool {
        *self.0.keeps() == Keeps::Anew
    }

    /// How what is kept of the edge has changed, as JSON text.
    #[wasm_bindgen(getter)]
    pub fn change(&self) -> Option<String> {
        match self.0.keeps() {
            Keeps::Delta(delta) => Some(delta.to_json()),
            _ => None,
        }
    }

    /// The sessions whose streams are there now.
    #[wasm_bindgen(getter)]
    pub fn joined(&self) -> Vec<String> {
        self.0.joined().iter().map(|id| (**id).to_owned()).collect()
    }

    /// The sessions whose streams are gone from the shard.
    #[wasm_bindgen(getter)]
    pub fn left(&self) -> Vec<String> {
        self.0.left().iter().map(|id| (**id).to_owned()).collect()
    }

    /// Whether no other session has its stream at the shard.
    #[wasm_bindgen(getter, js_name = isFresh)]
    pub fn is_fresh(&self) -> bool {
        self.0.is_fresh()
    }

    /// What a session watches that has joined, and whether its client is not ready yet; one that is
    /// not pushed is over.
    #[wasm_bindgen(js_name = pushWatch)]
    pub fn push_watch(
        &mut self,
        bus: &mut Bus,
        session: &str,
        uris: Vec<String>,
        #[wasm_bindgen(js_name = isHeld)] is_held: bool,
    ) {
        let watched = Watched {
            session: session.into(),
            uris: uris_of(&uris),
            is_held,
        };
        self.0.push_watch(&mut bus.core, watched);
    }

    /// The next event of the log, as JSON text.
    #[wasm_bindgen(js_name = pushEvent)]
    pub fn push_event(&mut self, bus: &Bus, position: f64, event: &str) -> Result<(), JsValue> {
        self.0
            .push_event(&bus.core, at(position), &event_of(event)?);
        Ok(())
    }

    /// What to send; it is over then. For a shard one text.
    pub fn finish(self, bus: &mut Bus) -> Vec<String> {
        self.0.finish(&mut bus.core)
    }
}

#[wasm_bindgen]
impl BatchCall {
    /// To which shard.
    #[wasm_bindgen(getter)]
    pub fn shard(&self) -> u32 {
        self.0.shard.0
    }

    /// The number of the call.
    #[wasm_bindgen(getter)]
    pub fn call(&self) -> u32 {
        self.0.call
    }

    /// What to tell it.
    #[wasm_bindgen(getter)]
    pub fn text(&self) -> String {
        self.0.text.clone()
    }
}

#[wasm_bindgen]
impl Change {
    /// What kind of change it is.
    #[wasm_bindgen(getter)]
    pub fn kind(&self) -> ChangeKind {
        match self.0 {
            bus::Change::Opened { .. } => ChangeKind::Opened,
            bus::Change::Leaving(_) => ChangeKind::Leaving,
            bus::Change::Closed(_) => ChangeKind::Closed,
            bus::Change::Follows { .. } => ChangeKind::Follows,
            bus::Change::Settled(_) => ChangeKind::Settled,
        }
    }

    /// The shard that it is about; 0 where it is about none.
    #[wasm_bindgen(getter)]
    pub fn shard(&self) -> u32 {
        match self.0 {
            bus::Change::Opened { shard, .. }
            | bus::Change::Leaving(shard)
            | bus::Change::Closed(shard)
            | bus::Change::Follows { shard, .. } => shard.0,
            bus::Change::Settled(_) => 0,
        }
    }

    /// Where the edges are that a shard was opened for.
    #[wasm_bindgen(getter)]
    pub fn continent(&self) -> Option<String> {
        match &self.0 {
            bus::Change::Opened { continent, .. } => Some((**continent).to_owned()),
            _ => None,
        }
    }

    /// The position up to which everything is settled.
    #[wasm_bindgen(getter)]
    pub fn position(&self) -> Option<f64> {
        match self.0 {
            bus::Change::Settled(position) => Some(number(position)),
            _ => None,
        }
    }

    /// The number of the call that changed what a shard follows.
    #[wasm_bindgen(getter)]
    pub fn seq(&self) -> Option<f64> {
        match self.0 {
            bus::Change::Follows { seq, .. } => Some(number(Position(seq))),
            _ => None,
        }
    }

    /// Whether nothing holds that the shard followed before.
    #[wasm_bindgen(getter, js_name = isFresh)]
    pub fn is_fresh(&self) -> bool {
        matches!(self.0, bus::Change::Follows { is_fresh: true, .. })
    }

    /// What the shard follows too.
    #[wasm_bindgen(getter)]
    pub fn add(&self) -> Vec<String> {
        match &self.0 {
            bus::Change::Follows { add, .. } => texts(add),
            _ => Vec::new(),
        }
    }

    /// What the shard follows no more.
    #[wasm_bindgen(getter)]
    pub fn drop(&self) -> Vec<String> {
        match &self.0 {
            bus::Change::Follows { drop, .. } => texts(drop),
            _ => Vec::new(),
        }
    }
}

/// Tells the shard with the stream of a session that what the session watches has changed.
#[wasm_bindgen(js_name = sessionChanged)]
pub fn session_changed(session: &str) -> String {
    SessionCall::Changed(session.into()).to_json()
}

/// Tells the shard with the stream of a session to let that go.
#[wasm_bindgen(js_name = sessionReleased)]
pub fn session_released(session: &str) -> String {
    SessionCall::Release(session.into()).to_json()
}

pub(crate) fn refused(error: ProtocolError) -> JsValue {
    coded(error.code(), &error.to_string())
}

fn texts(topics: &[Topic]) -> Vec<String> {
    topics.iter().map(Topic::to_text).collect()
}
