use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::{self, Home, Position, ShardId},
    topic::Topic,
};

use crate::{
    number::{millis, time},
    object::optional,
    text::event_of,
};

use super::{at, log::Bus, number, refused};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** One call to a shard: `text` is what to tell it. */
export interface BatchCall {
  shard: number;
  call: number;
  text: string;
}

/** What has to be made durable. */
export type Change =
  /** There is one more shard, opened for edges of this continent. */
  | { kind: 'opened'; shard: number; continent: string }
  /** It takes no more edges. */
  | { kind: 'leaving'; shard: number }
  | { kind: 'closed'; shard: number }
  /** As of the call `seq` it follows `add` too and `drop` no more, and nothing else where it `isFresh`. */
  | { kind: 'follows'; shard: number; seq: number; isFresh: boolean; add: string[]; drop: string[] }
  /** Every shard has taken what was published up to here. */
  | { kind: 'settled'; position: number };
";

#[derive(Serialize)]
struct BatchCall {
    shard: u32,
    call: u32,
    text: String,
}

#[derive(Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Change {
    Opened {
        shard: u32,
        continent: String,
    },
    Leaving {
        shard: u32,
    },
    Closed {
        shard: u32,
    },
    Follows {
        shard: u32,
        seq: f64,
        is_fresh: bool,
        add: Vec<String>,
        drop: Vec<String>,
    },
    Settled {
        position: f64,
    },
}

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
    #[wasm_bindgen(unchecked_return_type = "BatchCall | undefined")]
    pub fn batch(&mut self, now: f64) -> JsValue {
        let call = self.core.poll_batch(millis(now));
        optional(call.map(|bus::BatchCall { shard, call, text }| BatchCall {
            shard: shard.0,
            call,
            text,
        }))
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

    /// The next thing to make durable, at `now` of the clock of the sessions, whose store may throw.
    #[wasm_bindgen(unchecked_return_type = "Change | undefined")]
    pub fn change(&mut self, now: f64) -> Result<JsValue, JsValue> {
        let change = self.core.poll_change();
        if let Some(bus::Change::Closed(ShardId(shard))) = change
            && let Some(sessions) = &mut self.sessions
        {
            sessions.handle_shard_emptied(shard, millis(now))?;
        }
        Ok(optional(change.map(Change::from)))
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

    /// A shard told what it follows, at `now` of the clock of the sessions, whose store may throw.
    #[wasm_bindgen(unchecked_return_type = "Following")]
    pub fn follow(&mut self, shard: u32, text: &str, now: f64) -> Result<JsValue, JsValue> {
        let reply = self.core.handle_follow(ShardId(shard), text);
        Ok(optional(self.follows(reply.map_err(refused)?, now)?))
    }
}

impl From<bus::Change> for Change {
    fn from(change: bus::Change) -> Self {
        match change {
            bus::Change::Opened { shard, continent } => Self::Opened {
                shard: shard.0,
                continent: continent.into(),
            },
            bus::Change::Leaving(shard) => Self::Leaving { shard: shard.0 },
            bus::Change::Closed(shard) => Self::Closed { shard: shard.0 },
            bus::Change::Follows {
                shard,
                seq,
                is_fresh,
                add,
                drop,
            } => Self::Follows {
                shard: shard.0,
                seq: number(Position(seq)),
                is_fresh,
                add: texts(&add),
                drop: texts(&drop),
            },
            bus::Change::Settled(position) => Self::Settled {
                position: number(position),
            },
        }
    }
}

fn texts(topics: &[Topic]) -> Vec<String> {
    topics.iter().map(Topic::to_text).collect()
}
