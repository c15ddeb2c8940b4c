//! Edges that are placed but never connect, and the state when all have left.

use mcp_listen::{bus::Route, event::ServerEvent, filter::SubscriptionFilter, topic::Topic};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    root::{sharded, tools},
    world::{ShardObject, World},
};
use crate::any::task;

impl World {
    /// An edge is placed but never connects.
    pub(crate) fn stray(&mut self, continent: &str) {
        let own = u32::try_from(self.own.len()).unwrap();
        if let Route::Shard(shard) = self.root.bus_mut().route(continent, own, None) {
            let object = self.shards.entry(shard);
            object.or_insert_with(|| ShardObject::new(0));
        }
        self.settle_root();
    }

    /// Every listener leaves.
    pub(crate) fn clear(&mut self) {
        for listener in 0..self.listeners.len() {
            self.cut(listener, true);
        }
    }

    /// Publishes one event for each topic in the rows of the root, so that the root calls a shard
    /// that was reset.
    pub(crate) fn publish_what_is_followed(&mut self) {
        for topic in self.root.bus().wanted().topics() {
            match topic {
                Topic::Tools => self.publish(&ServerEvent::ToolsListChanged),
                Topic::Prompts => self.publish(&ServerEvent::PromptsListChanged),
                Topic::Resources => self.publish(&ServerEvent::ResourcesListChanged),
                Topic::Resource(uri) => self.publish(&ServerEvent::ResourceUpdated { uri }),
                Topic::Task(id) => {
                    let id = serde_json::Value::from(&*id);
                    self.publish(&task(&format!(r#"{{"taskId":{id},"status":"working"}}"#)))
                }
                other => panic!("unexpected output {other:?}"),
            };
        }
    }

    /// Without edges, the root has no rows of followed topics, and no shard that it knows to be
    /// empty. A shard that follows nothing, and was reset before its edges left, had no occasion to
    /// report.
    pub(crate) fn check_forgotten(&self) {
        let topics = &self.disk.rows.topics;
        assert!(topics.is_empty(), "{topics:?}");
        assert_eq!(self.root.bus().wanted(), SubscriptionFilter::default());
        let was_reset = |shard| self.shards[&shard].shard.cursor().is_none();
        let known: Vec<_> = self.root.bus().shards().collect();
        assert!(
            known
                .iter()
                .all(|(shard, _, edges)| edges.is_none() || was_reset(*shard)),
            "{known:?}"
        );
    }
}

#[test]
fn a_shard_without_its_first_edge_is_closed() {
    let mut world = sharded(&[]);
    let before = world.root.bus().shards().count();
    world.stray("OC");
    assert_eq!(world.root.bus().shards().count(), before + 1);
    world.come_to_rest();
    assert_eq!(world.root.bus().shards().count(), before);
    // A stray that is still in flight is waited for.
    world.stray("OC");
    world.pass(9_000);
    let (late, ..) = world.root.bus().shards().last().unwrap();
    world.listen_at(tools(), late);
    world.come_to_rest();
    assert_eq!(world.root.bus().shards().count(), before + 1);
}

#[test]
fn a_shard_whose_first_call_was_lost_with_the_root_is_closed() {
    let mut world = sharded(&[]);
    let before = world.root.bus().shards().count();
    world.stray("OC");
    world.mail.clear();
    world.restart_root(true);
    assert_eq!(world.root.bus().shards().count(), before + 1);
    world.come_to_rest();
    assert_eq!(world.root.bus().shards().count(), before);
}
