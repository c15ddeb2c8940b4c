use wasm_bindgen::prelude::*;

use mcp_listen::{bus::ShardId, topic::Topic};

use super::{at, handle::Bus};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** A shard from before a restart. */
export interface ShardRow {
  shard: number;
  continent: string;
  /** The number of its last call. */
  seq: number;
  isLeaving: boolean;
  /** The topics that it followed, as reported by `JournalEntry`. */
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
    /// Lets the bus open shards of `per_shard` edges each. `last` is the number of the last shard;
    /// the shards in `rows` have received everything up to `settled`. Call it before any edge
    /// connects.
    #[wasm_bindgen(js_name = setShards)]
    pub fn set_shards(
        &mut self,
        settled: f64,
        last: u32,
        per_shard: u32,
        rows: Vec<ShardRow>,
    ) -> Result<(), JsValue> {
        let root = self.root()?;
        root.bus_mut().set_shards(at(settled), last, per_shard);
        for row in rows {
            let (shard, seq) = (ShardId(row.shard()), at(row.seq()).0);
            root.bus_mut()
                .restore_shard(shard, &row.continent(), seq, row.is_leaving());
            for text in row.topics() {
                // A shard whose topic cannot be read gets every event, until it reports again.
                let topic = Topic::from_text(&text).unwrap_or(Topic::Everything);
                root.bus_mut().restore_topic(shard, topic);
            }
        }
        root.restore_events()
    }

    /// Returns where to place the next edge of a continent: the number of a shard, or 0 for the
    /// root itself, which holds `own` edges. The shard `full` has refused this edge.
    pub fn place(&mut self, continent: &str, own: u32, full: Option<u32>) -> Result<u32, JsValue> {
        let bus = self.root()?.bus_mut();
        let route = bus.route(continent, own, full.map(ShardId));
        Ok(route.shard().map_or(0, |shard| shard.0))
    }

    /// Returns how many edges a shard is known to hold; undefined until it has reported.
    #[wasm_bindgen(js_name = edgesAt)]
    pub fn edges_at(&mut self, shard: u32) -> Result<Option<u32>, JsValue> {
        let mut shards = self.root()?.bus().shards();
        Ok(shards
            .find(|(id, ..)| id.0 == shard)
            .and_then(|shard| shard.2))
    }

    /// Handles the end of a burst of events.
    pub fn settle(&mut self) -> Result<(), JsValue> {
        self.root()?.bus_mut().settle();
        Ok(())
    }
}
