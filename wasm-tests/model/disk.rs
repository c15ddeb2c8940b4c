use std::collections::VecDeque;

use mcp_listen::{
    clock::Millis,
    position::{Cursor, Position},
};

use crate::{key::Key, session_rows::SessionRows, table::Table};

/// The state that outlives the bus: the log, trimmed by count and age, and the subscriptions of
/// sessions.
#[derive(Debug)]
pub(crate) struct Disk {
    epoch: usize,
    log: VecDeque<Entry>,
    floor: u64,
    last: u64,
    window: usize,
    pub(crate) sessions: SessionRows,
    /// The time of the alarm that ends sessions.
    pub(crate) sweep_at: Option<Millis>,
    /// The state that the root of shards stores.
    pub(crate) table: Table,
    /// Everything that was ever published, for the checks.
    published: Vec<(Key, usize)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) position: Position,
    pub(crate) key: Key,
    pub(crate) number: usize,
    at: Millis,
}

impl Disk {
    pub(crate) fn new(epoch: usize, window: usize, table: Table) -> Self {
        Self {
            epoch,
            log: VecDeque::new(),
            floor: 0,
            last: 0,
            window,
            sessions: SessionRows::default(),
            sweep_at: None,
            table,
            published: Vec::new(),
        }
    }

    /// Returns the disk of a bus that lost this one.
    pub(crate) fn renewed(&self) -> Self {
        Self::new(self.epoch + 1, self.window, self.table.renewed())
    }

    pub(crate) fn cursor(&self) -> Cursor {
        Cursor {
            epoch: format!("e{}", self.epoch).into(),
            position: Position(self.last),
        }
    }

    /// The position after which the log holds everything.
    pub(crate) fn floor(&self) -> Position {
        Position(self.floor)
    }

    pub(crate) fn append(&mut self, position: Position, key: Key, number: usize, now: Millis) {
        self.last = position.0;
        self.published.push((key, number));
        self.log.push_back(Entry {
            position,
            key,
            number,
            at: now,
        });
        let is_old = |entry: &&Entry| entry.at + WINDOW_AGE < now;
        let aged = self.log.iter().take_while(is_old).count();
        let beyond = self.log.len().saturating_sub(self.window);
        // In batches, as the log on a real disk.
        if beyond >= BATCH || aged > 0 {
            self.trim(aged.max(beyond));
        }
    }

    /// Removes the oldest events; the last one stays, and marks the end of the log.
    pub(crate) fn trim(&mut self, count: usize) {
        let count = count.min(self.log.len().saturating_sub(1));
        for entry in self.log.drain(..count) {
            self.floor = entry.position.0;
        }
    }

    /// Returns the event at a position, even if it was trimmed.
    pub(crate) fn published(&self, position: Position) -> Option<(Key, usize)> {
        let place = usize::try_from(position.0.checked_sub(1)?).ok()?;
        self.published.get(place).copied()
    }

    pub(crate) fn after(&self, position: Position) -> impl Iterator<Item = &Entry> {
        self.log
            .iter()
            .filter(move |entry| entry.position > position)
    }
}

const BATCH: usize = 3;
const WINDOW_AGE: Millis = Millis(600_000);
