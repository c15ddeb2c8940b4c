use std::collections::{BTreeMap, BTreeSet};

use mcp_listen::{
    bus::{JournalEntry, ShardId},
    clock::Millis,
    position::Position,
    topic::Topic,
};

use crate::memory::Root;

/// What the root of a bus with shards stores on its disk.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    per_shard: u32,
    settled: Position,
    last: u32,
    shards: BTreeMap<ShardId, ShardRow>,
    topics: BTreeSet<(ShardId, Topic)>,
    /// Every topic that each shard has followed at some time, for the checks.
    asked: BTreeSet<(ShardId, Topic)>,
    /// The time of the alarm: set together with an event, until every shard has received it.
    pub(crate) alarm: Option<Millis>,
}

#[derive(Clone, Debug)]
struct ShardRow {
    continent: Box<str>,
    seq: u64,
    is_leaving: bool,
}

impl Table {
    /// A root that opens shards beyond this many edges.
    pub(crate) fn new(per_shard: u32) -> Self {
        Self {
            per_shard,
            settled: Position(0),
            last: 0,
            shards: BTreeMap::new(),
            topics: BTreeSet::new(),
            asked: BTreeSet::new(),
            alarm: None,
        }
    }

    pub(crate) fn renewed(&self) -> Self {
        Self::new(self.per_shard)
    }

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
                let add = add.into_iter().map(|topic| (shard, topic));
                for row in add {
                    self.asked.insert(row.clone());
                    self.topics.insert(row);
                }
            }
            JournalEntry::Settled(position) => self.settled = position,
            other => panic!("not known: {other:?}"),
        }
    }

    /// Restores the shards after a restart.
    pub(crate) fn restore(&self, root: &mut Root) {
        let bus = root.bus_mut();
        bus.set_shards(self.settled, self.last, self.per_shard);
        for (shard, row) in &self.shards {
            bus.restore_shard(*shard, &row.continent, row.seq, row.is_leaving);
        }
        for (shard, topic) in &self.topics {
            bus.restore_topic(*shard, topic.clone());
        }
        root.restore_events().unwrap();
    }

    /// Whether a shard has ever asked for a topic.
    pub(crate) fn has_asked(&self, shard: ShardId, topic: &Topic) -> bool {
        self.asked.contains(&(shard, topic.clone()))
    }

    /// Whether some shard follows a topic.
    pub(crate) fn has_row_of(&self, topic: &Topic) -> bool {
        self.topics.iter().any(|(_, followed)| followed == topic)
    }

    /// The number of rows of topics.
    pub(crate) fn rows(&self) -> usize {
        self.topics.len()
    }

    /// Whether there is a shard that stays.
    pub(crate) fn has_shards(&self) -> bool {
        self.shards.values().any(|row| !row.is_leaving)
    }
}

/// The number of edges beyond which shards are opened.
pub(crate) const PER_SHARD: u32 = 2;
