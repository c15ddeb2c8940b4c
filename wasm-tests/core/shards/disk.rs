//! The state that outlives the memory of the root.

use std::collections::{BTreeMap, BTreeSet};

use mcp_listen::{
    bus::{Bus, JournalEntry, ShardId},
    event::ServerEvent,
    position::{Cursor, Position},
    topic::Topic,
};

use super::world::PER_SHARD;

/// The log, and what the root has stored.
#[derive(Default)]
pub(crate) struct Disk {
    pub(crate) log: Vec<ServerEvent>,
    pub(crate) floor: Position,
    pub(crate) settled: Position,
    pub(crate) last: u32,
    pub(crate) shards: BTreeMap<ShardId, (Box<str>, u64, bool)>,
    pub(crate) topics: BTreeSet<(ShardId, Topic)>,
}

impl Disk {
    pub(crate) fn after(&self, position: Position) -> Vec<(Position, ServerEvent)> {
        assert!(position >= self.floor, "the log does not reach back so far");
        let numbered = self.log.iter().zip(1..);
        let numbered = numbered.filter(|(_, number)| *number > position.0);
        numbered
            .map(|(event, number)| (Position(number), event.clone()))
            .collect()
    }

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
        }
    }

    pub(super) fn bus(&self, cursor: Cursor) -> Bus {
        let mut bus = Bus::new(cursor).with_floor(self.floor);
        bus.set_shards(self.settled, self.last, PER_SHARD);
        for (shard, (continent, seq, is_leaving)) in &self.shards {
            bus.restore_shard(*shard, continent, *seq, *is_leaving);
        }
        for (shard, topic) in &self.topics {
            bus.restore_topic(*shard, topic.clone());
        }
        if let Some(after) = bus.restore_after() {
            for (position, event) in self.after(after) {
                bus.restore_event(position, &event);
            }
        }
        bus
    }
}
