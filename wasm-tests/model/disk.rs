use mcp_listen::{
    clock::Millis,
    position::{Cursor, Position},
    root,
};

use crate::{log::Log, session_rows::SessionRows, table::Table};

/// The state that outlives the bus.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) log: Log,
    pub(crate) sessions: SessionRows,
    /// The time of the alarm that ends sessions.
    pub(crate) sweep_at: Option<Millis>,
    /// The state that the root of shards stores.
    pub(crate) table: Table,
}

impl Disk {
    pub(crate) fn new(log: Log, table: Table) -> Self {
        Self {
            log,
            sessions: SessionRows::default(),
            sweep_at: None,
            table,
        }
    }

    /// Returns the disk of a bus that lost this one.
    pub(crate) fn renewed(&self) -> Self {
        Self::new(self.log.renewed(), self.table.renewed())
    }

    pub(crate) fn cursor(&self) -> Cursor {
        root::Log::cursor(&self.log)
    }

    /// The position after which the log holds everything.
    pub(crate) fn floor(&self) -> Position {
        root::Log::floor(&self.log)
    }
}
