//! The state that outlives the memory of the root.

use std::collections::{BTreeMap, BTreeSet};

use mcp_listen::{
    bus::{JournalEntry, ShardId},
    position::Position,
    topic::Topic,
};

use super::world::PER_SHARD;
use crate::log::{Log, Root};

/// The log, and what the root has stored.
#[derive(Default)]
pub(crate) struct Disk {
    pub(crate) log: Log,
    pub(crate) settled: Position,
    pub(crate) last: u32,
    pub(crate) shards: BTreeMap<ShardId, (Box<str>, u64, bool)>,
    pub(crate) topics: BTreeSet<(ShardId, Topic)>,
}

impl Disk {
    pub(super) fn apply(&mut self, change: JournalEntry) {
        match change {
            JournalEntry::Opened { shard, continent } => {
                assert!(shard.0 > self.last, "a number is used twice");
                self.last = shard.0;
                self.shards.insert(shard, (continent, 0, false));
            }
            JournalEntry::Leaving(shard) => self.shards.get_mut(&shard).unwrap().2 = true,
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
                self.shards.get_mut(&shard).unwrap().1 = seq;
                if is_fresh {
                    self.topics.retain(|(holder, _)| *holder != shard);
                }
                for topic in drop {
                    self.topics.remove(&(shard, topic));
                }
                self.topics
                    .extend(add.into_iter().map(|topic| (shard, topic)));
            }
            JournalEntry::Settled(position) => self.settled = position,
            other => panic!("not known: {other:?}"),
        }
    }

    pub(super) fn root(&self) -> Root {
        let mut root = self.log.root();
        let bus = root.bus_mut();
        bus.set_shards(self.settled, self.last, PER_SHARD);
        for (shard, (continent, seq, is_leaving)) in &self.shards {
            bus.restore_shard(*shard, continent, *seq, *is_leaving);
        }
        for (shard, topic) in &self.topics {
            bus.restore_topic(*shard, topic.clone());
        }
        root.restore_events().unwrap();
        root
    }
}
