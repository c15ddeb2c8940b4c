//! The rows of the shards of a bus, which outlive the memory of its root.

use std::collections::{BTreeMap, BTreeSet};

use mcp_listen::{
    bus::{Bus, JournalEntry, ShardId},
    position::Position,
    topic::Topic,
};

/// What a host stores about shards.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShardRows {
    pub(crate) settled: Position,
    /// The number of the newest shard.
    pub(crate) last: u32,
    pub(crate) shards: BTreeMap<ShardId, ShardRow>,
    pub(crate) topics: BTreeSet<(ShardId, Topic)>,
}

#[derive(Clone, Debug)]
pub(crate) struct ShardRow {
    continent: Box<str>,
    seq: u64,
    is_leaving: bool,
}

impl ShardRows {
    /// Stores a change.
    pub(crate) fn apply(&mut self, change: JournalEntry) {
        match change {
            JournalEntry::Opened { shard, continent } => {
                self.last = shard.0;
                let row = ShardRow {
                    continent,
                    seq: 0,
                    is_leaving: false,
                };
                self.shards.insert(shard, row);
            }
            JournalEntry::Leaving(shard) => {
                if let Some(row) = self.shards.get_mut(&shard) {
                    row.is_leaving = true;
                }
            }
            JournalEntry::Closed(shard) => {
                self.shards.remove(&shard);
                self.topics.retain(|(holder, _)| *holder != shard);
            }
            JournalEntry::Follows {
                shard,
                seq,
                is_fresh,
                add,
                drop,
            } => {
                if let Some(row) = self.shards.get_mut(&shard) {
                    row.seq = seq;
                }
                let is_dropped = |topic: &Topic| is_fresh || drop.contains(topic);
                self.topics
                    .retain(|(holder, topic)| *holder != shard || !is_dropped(topic));
                self.topics
                    .extend(add.into_iter().map(|topic| (shard, topic)));
            }
            JournalEntry::Settled(position) => self.settled = position,
            other => panic!("not known: {other:?}"),
        }
    }

    /// Whether there is a shard that stays.
    pub(crate) fn has_shards(&self) -> bool {
        self.shards.values().any(|row| !row.is_leaving)
    }

    /// Whether some shard follows a topic.
    pub(crate) fn has_follower(&self, topic: &Topic) -> bool {
        self.topics.iter().any(|(_, followed)| followed == topic)
    }

    /// Restores the shards after a restart of the root.
    pub(crate) fn restore(&self, bus: &mut Bus, per_shard: u32) {
        bus.set_shards(self.settled, self.last, per_shard);
        for (shard, row) in &self.shards {
            bus.restore_shard(*shard, &row.continent, row.seq, row.is_leaving);
        }
        for (shard, topic) in &self.topics {
            bus.restore_topic(*shard, topic.clone());
        }
    }
}
