use alloc::vec::Vec;

use crate::{
    sorted::Map,
    vocabulary::{
        event::ServerEvent,
        topic::{Index, Topic, Topics},
    },
    wire::Follow,
};

use super::placement::ShardId;

/// What the shards of a bus follow there.
#[derive(Debug, Default)]
pub(super) struct Follows {
    index: Index<ShardId>,
    by_shard: Map<ShardId, Topics>,
    names: usize,
}

impl Follows {
    /// Bytes that the names count, those that more than one shard follows more than once.
    pub(super) fn names(&self) -> usize {
        self.names
    }

    /// Bytes that the names of one shard count.
    pub(super) fn names_of(&self, shard: ShardId) -> usize {
        self.by_shard.get(&shard).map_or(0, Topics::bytes)
    }

    /// What all of them follow together.
    pub(super) fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.index.topics()
    }

    /// Each topic with the shards that follow it.
    pub(super) fn entries(&self) -> impl Iterator<Item = (ShardId, &Topic)> {
        self.index.entries()
    }

    /// The shards that follow what `event` is about.
    pub(super) fn matching(&self, event: &ServerEvent) -> Vec<ShardId> {
        self.index.matching(event)
    }

    /// Whether events about this topic go to a shard.
    pub(super) fn takes(&self, shard: ShardId, topic: &Topic) -> bool {
        self.index.has(shard, topic) || self.index.has(shard, &Topic::Everything)
    }

    /// Bytes that the names count after this call of a shard; `None` where it makes them no more.
    pub(super) fn grown_by(&self, shard: ShardId, follow: &Follow) -> Option<usize> {
        let held = self.by_shard.get(&shard);
        let has = |topic: &&Topic| held.is_some_and(|held| held.contains(topic));
        let gone: usize = if follow.is_fresh {
            self.names_of(shard)
        } else {
            follow.drop.iter().filter(has).map(Topic::names).sum()
        };
        let new = follow.add.iter();
        let new = new.filter(|topic| follow.is_fresh || !has(topic));
        let added: usize = new.map(Topic::names).sum();
        (added > gone).then(|| self.names - gone + added)
    }

    /// A shard follows a topic. Returns whether that is new.
    pub(super) fn insert(&mut self, shard: ShardId, topic: Topic) -> bool {
        if self.index.has(shard, &topic) {
            return false;
        }
        self.names += topic.names();
        let topic = self.index.insert(shard, topic);
        if let Some(topics) = self.by_shard.or_default(shard) {
            topics.insert(topic);
        }
        true
    }

    /// A shard follows a topic no more.
    pub(super) fn remove(&mut self, shard: ShardId, topic: &Topic) {
        let topics = self.by_shard.get_mut(&shard);
        if topics.is_some_and(|topics| topics.remove(topic)) {
            self.release(shard, topic);
        }
    }

    /// A shard follows nothing any more.
    pub(super) fn forget(&mut self, shard: ShardId) {
        let topics = self.by_shard.remove(&shard).unwrap_or_default();
        for topic in topics.iter() {
            self.release(shard, topic);
        }
    }

    fn release(&mut self, shard: ShardId, topic: &Topic) {
        self.names -= topic.names();
        self.index.remove(shard, topic);
    }
}
