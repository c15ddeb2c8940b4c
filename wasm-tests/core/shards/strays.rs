//! Who asks for a place and does not come, and what is left when all have gone.

use mcp_listen::bus::Home;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    root::{sharded, tools},
    world::{ShardObject, World},
};

impl World {
    /// Somebody asks for a place and does not come.
    pub(crate) fn stray(&mut self, continent: &str) {
        let own = u32::try_from(self.own.len()).unwrap();
        if let Home::Shard(shard) = self.root.place(continent, own, None) {
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

    /// When nobody is left, the root believes of no shard that somebody is, and keeps none that it knows to be empty. A
    /// shard that was reset, and to which nobody and nothing came since, has had no occasion to tell.
    pub(crate) fn check_forgotten(&self) {
        let has_told = |shard| self.shards[&shard].shard.mark().is_some();
        let known: Vec<_> = self.root.shards().collect();
        assert!(
            known
                .iter()
                .all(|(shard, _, edges)| edges.is_none() || !has_told(*shard)),
            "{known:?}"
        );
    }
}

#[test]
fn a_shard_whose_first_edge_never_comes_is_closed() {
    let mut world = sharded(&[]);
    let before = world.root.shards().count();
    world.stray("OC");
    assert_eq!(world.root.shards().count(), before + 1);
    world.come_to_rest();
    assert_eq!(world.root.shards().count(), before);
    // One that is still on its way is waited for.
    world.stray("OC");
    world.pass(9_000);
    let (late, ..) = world.root.shards().last().unwrap();
    world.listen_at(tools(), late);
    world.come_to_rest();
    assert_eq!(world.root.shards().count(), before + 1);
}
