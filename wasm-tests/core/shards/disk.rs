//! The state that outlives the memory of the root.

use mcp_listen::bus::JournalEntry;

use super::world::PER_SHARD;
use crate::{
    log::{Log, Root},
    shard_rows::ShardRows,
};

/// The log, and what the root has stored.
#[derive(Default)]
pub(crate) struct Disk {
    pub(crate) log: Log,
    pub(crate) rows: ShardRows,
}

impl Disk {
    pub(super) fn apply(&mut self, change: JournalEntry) {
        match &change {
            JournalEntry::Opened { shard, .. } => {
                assert!(shard.0 > self.rows.last, "a number is used twice");
            }
            JournalEntry::Leaving(shard) | JournalEntry::Follows { shard, .. } => {
                assert!(self.rows.shards.contains_key(shard), "{shard:?} is closed");
            }
            _ => {}
        }
        self.rows.apply(change);
    }

    pub(super) fn root(&self) -> Root {
        let mut root = self.log.root();
        self.rows.restore(root.bus_mut(), PER_SHARD);
        root.restore_events().unwrap();
        root
    }
}
