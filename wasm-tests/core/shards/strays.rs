//! Who asks for a place and does not come, and what is left when all have gone.

use mcp_listen::{bus::Home, event::ServerEvent, filter::SubscriptionFilter, topic::Topic};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    root::{sharded, tools},
    world::{ShardObject, World},
};
use crate::any::task;

impl World {
    /// Somebody asks for a place and does not come.
    pub(crate) fn stray(&mut self, continent: &str) {
        let own = u32::try_from(self.own.len()).unwrap();
        if let Home::Shard(shard) = self.bus.place(continent, own, None) {
            let object = self.shards.entry(shard);
            object.or_insert_with(|| ShardObject::new(0));
        }
        self.settle_root();
    }

    /// Every listener goes.
    pub(crate) fn clear(&mut self) {
        for listener in 0..self.listeners.len() {
            self.cut(listener, true);
        }
    }

    /// Publishes one event for each topic in the root's rows, so that a shard that was reset is
    /// called by the root.
    pub(crate) fn publish_what_is_followed(&mut self) {
        for topic in self.bus.wanted().topics() {
            match topic {
                Topic::Tools => self.publish(&ServerEvent::ToolsListChanged),
                Topic::Prompts => self.publish(&ServerEvent::PromptsListChanged),
                Topic::Resources => self.publish(&ServerEvent::ResourcesListChanged),
                Topic::Resource(uri) => self.publish(&ServerEvent::ResourceUpdated { uri }),
                Topic::Task(id) => {
                    let id = serde_json::Value::from(&*id);
                    self.publish(&task(&format!(r#"{{"taskId":{id},"status":"working"}}"#)))
                }
                other => panic!("nobody follows {other:?}"),
            };
        }
    }

    /// Without edges, the root has no rows of followed topics, and no shard that it knows to be
    /// empty. A shard that follows nothing, and was reset before its edges left, has had no
    /// occasion to tell.
    pub(crate) fn check_forgotten(&self) {
        assert!(self.disk.topics.is_empty(), "{:?}", self.disk.topics);
        assert_eq!(self.bus.wanted(), SubscriptionFilter::default());
        let was_reset = |shard| self.shards[&shard].shard.mark().is_none();
        let known: Vec<_> = self.bus.shards().collect();
        assert!(
            known
                .iter()
                .all(|(shard, _, edges)| edges.is_none() || was_reset(*shard)),
            "{known:?}"
        );
    }
}

#[test]
fn a_shard_whose_first_edge_never_comes_is_closed() {
    let mut world = sharded(&[]);
    let before = world.bus.shards().count();
    world.stray("OC");
    assert_eq!(world.bus.shards().count(), before + 1);
    world.come_to_rest();
    assert_eq!(world.bus.shards().count(), before);
    // One that is still on its way is waited for.
    world.stray("OC");
    world.pass(9_000);
    let (late, ..) = world.bus.shards().last().unwrap();
    world.listen_at(tools(), late);
    world.come_to_rest();
    assert_eq!(world.bus.shards().count(), before + 1);
}
