use std::collections::BTreeSet;

use mcp_listen::{
    bus::{JournalEntry, ShardId},
    clock::Millis,
    topic::Topic,
};

use crate::{memory::Root, shard_rows::ShardRows};

/// What the root of a bus with shards stores on its disk.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    per_shard: u32,
    stored: ShardRows,
    /// Every topic that each shard has followed at some time, for the checks.
    asked: BTreeSet<(ShardId, Topic)>,
    /// The time of the alarm: set together with an event, until every shard has received it.
    pub(crate) alarm: Option<Millis>,
}

impl Table {
    /// A root that opens shards beyond this many edges.
    pub(crate) fn new(per_shard: u32) -> Self {
        Self {
            per_shard,
            stored: ShardRows::default(),
            asked: BTreeSet::new(),
            alarm: None,
        }
    }

    pub(crate) fn renewed(&self) -> Self {
        Self::new(self.per_shard)
    }

    pub(crate) fn apply(&mut self, change: JournalEntry) {
        if let JournalEntry::Follows { shard, add, .. } = &change {
            let asked = add.iter().map(|topic| (*shard, topic.clone()));
            self.asked.extend(asked);
        }
        self.stored.apply(change);
    }

    /// Restores the shards after a restart.
    pub(crate) fn restore(&self, root: &mut Root) {
        self.stored.restore(root.bus_mut(), self.per_shard);
        root.restore_events().unwrap();
    }

    /// Whether a shard has ever asked for a topic.
    pub(crate) fn has_asked(&self, shard: ShardId, topic: &Topic) -> bool {
        self.asked.contains(&(shard, topic.clone()))
    }

    /// Whether some shard follows a topic.
    pub(crate) fn has_row_of(&self, topic: &Topic) -> bool {
        self.stored.has_follower(topic)
    }

    /// The number of rows of topics.
    pub(crate) fn rows(&self) -> usize {
        self.stored.topics.len()
    }

    /// Whether there is a shard that stays.
    pub(crate) fn has_shards(&self) -> bool {
        self.stored.has_shards()
    }
}

/// The number of edges beyond which shards are opened.
pub(crate) const PER_SHARD: u32 = 2;
