use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::{Home, ShardId},
    topic::Topic,
};

use crate::number::millis;

use super::{at, handle::Bus};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** A shard that was there before a restart. */
export interface ShardRow {
  shard: number;
  continent: string;
  /** The number of its last call. */
  seq: number;
  isLeaving: boolean;
  /** What it followed, as `Change` told it. */
  topics: string[];
}
";

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(typescript_type = "ShardRow")]
    pub type ShardRow;
    #[wasm_bindgen(method, structural, getter)]
    fn shard(this: &ShardRow) -> u32;
    #[wasm_bindgen(method, structural, getter)]
    fn continent(this: &ShardRow) -> String;
    #[wasm_bindgen(method, structural, getter)]
    fn seq(this: &ShardRow) -> f64;
    #[wasm_bindgen(method, structural, getter, js_name = isLeaving)]
    fn is_leaving(this: &ShardRow) -> bool;
    #[wasm_bindgen(method, structural, getter)]
    fn topics(this: &ShardRow) -> Vec<String>;
}

/// The shards of a bus.
#[wasm_bindgen]
impl Bus {
    /// The bus opens shards, the last of which had the number `last`; they have taken everything up to `settled`, and
    /// each takes `per_shard` edges. Before any edge is there.
    #[wasm_bindgen(js_name = setShards)]
    pub fn set_shards(
        &mut self,
        settled: f64,
        last: u32,
        per_shard: u32,
        rows: Vec<ShardRow>,
    ) -> Result<(), JsValue> {
        let root = self.root()?;
        root.core.set_shards(at(settled), last, per_shard);
        for row in rows {
            let (shard, seq) = (ShardId(row.shard()), at(row.seq()).0);
            root.core
                .restore_shard(shard, &row.continent(), seq, row.is_leaving());
            for topic in row
                .topics()
                .iter()
                .filter_map(|text| Topic::from_text(text))
            {
                root.core.restore_topic(shard, topic);
            }
        }
        root.restore_events()
    }

    /// Where the next edge of a continent goes: the number of a shard, or 0 for the root itself,
    /// which holds `own` edges. The shard `full` has refused this one.
    pub fn home(&mut self, continent: &str, own: u32, full: Option<u32>) -> Result<u32, JsValue> {
        Ok(
            match self.root()?.core.place(continent, own, full.map(ShardId)) {
                Home::Root => 0,
                Home::Shard(shard) => shard.0,
            },
        )
    }

    /// How many edges a shard is known to hold; undefined until it has told.
    #[wasm_bindgen(js_name = edgesAt)]
    pub fn edges_at(&mut self, shard: u32) -> Result<Option<u32>, JsValue> {
        let mut shards = self.root()?.core.shards();
        Ok(shards
            .find(|(id, ..)| id.0 == shard)
            .and_then(|shard| shard.2))
    }

    /// A burst of events is over.
    pub fn settle(&mut self) -> Result<(), JsValue> {
        self.root()?.core.settle();
        Ok(())
    }

    /// A shard told what it follows, at `now` of the clock of the sessions, whose store may throw; the answer to it.
    pub fn follow(&mut self, shard: u32, text: &str, now: f64) -> Result<Option<String>, JsValue> {
        self.root()?.follow(ShardId(shard), text, millis(now))
    }
}
