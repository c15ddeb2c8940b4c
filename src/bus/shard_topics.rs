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

/// The topics that the shards of a bus follow.
#[derive(Debug, Default)]
pub(super) struct ShardTopics {
    index: Index<ShardId>,
    by_shard: Map<ShardId, Topics>,
    name_bytes: usize,
}

impl ShardTopics {
    /// Returns the bytes of the names, counted once for each shard that follows them.
    pub(super) fn name_bytes(&self) -> usize {
        self.name_bytes
    }

    /// Returns the bytes of the names of one shard.
    pub(super) fn name_bytes_of(&self, shard: ShardId) -> usize {
        self.by_shard.get(&shard).map_or(0, Topics::name_bytes)
    }

    /// The union of the topics of all shards.
    pub(super) fn all(&self) -> impl Iterator<Item = &Topic> {
        self.index.topics()
    }

    /// See [`Index::take_changed`].
    pub(super) fn take_changed(&mut self) -> Option<Topics> {
        self.index.take_changed()
    }

    /// Whether any shard follows this topic.
    pub(super) fn contains(&self, topic: &Topic) -> bool {
        self.index.contains(topic)
    }

    /// Returns the shards that follow the topics of `event`.
    pub(super) fn matching(&self, event: &ServerEvent) -> Vec<ShardId> {
        self.index.matching(event)
    }

    /// Whether events of this topic go to a shard.
    pub(super) fn takes(&self, shard: ShardId, topic: &Topic) -> bool {
        self.index.has(shard, topic) || self.index.has(shard, &Topic::Everything)
    }

    /// Returns the bytes of the names after this call of a shard; `None` if it does not increase
    /// them.
    pub(super) fn grown_by(&self, shard: ShardId, follow: &Follow) -> Option<usize> {
        let held = self.by_shard.get(&shard);
        let has = |topic: &&Topic| held.is_some_and(|held| held.contains(topic));
        let gone: usize = if follow.is_fresh {
            self.name_bytes_of(shard)
        } else {
            follow.drop.iter().filter(has).map(Topic::name_bytes).sum()
        };
        let new = follow.add.iter();
        let new = new.filter(|topic| follow.is_fresh || !has(topic));
        let added: usize = new.map(Topic::name_bytes).sum();
        (added > gone).then(|| self.name_bytes - gone + added)
    }

    /// Adds a topic of a shard. Returns whether it is new.
    pub(super) fn insert(&mut self, shard: ShardId, topic: Topic) -> bool {
        if self.index.has(shard, &topic) {
            return false;
        }
        self.name_bytes += topic.name_bytes();
        let topic = self.index.insert(shard, topic);
        if let Some(topics) = self.by_shard.or_default(shard) {
            topics.insert(topic);
        }
        true
    }

    /// Removes a topic of a shard.
    pub(super) fn remove(&mut self, shard: ShardId, topic: &Topic) {
        let topics = self.by_shard.get_mut(&shard);
        if topics.is_some_and(|topics| topics.remove(topic)) {
            self.release(shard, topic);
        }
    }

    /// Removes all topics of a shard.
    pub(super) fn forget(&mut self, shard: ShardId) {
        let topics = self.by_shard.remove(&shard).unwrap_or_default();
        for topic in topics.iter() {
            self.release(shard, topic);
        }
    }

    fn release(&mut self, shard: ShardId, topic: &Topic) {
        self.name_bytes -= topic.name_bytes();
        self.index.remove(shard, topic);
    }
}
