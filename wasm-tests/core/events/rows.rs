use std::collections::BTreeMap;
use std::convert::Infallible;

use mcp_listen::{
    clock::Millis,
    events::{EventRows, NameRow, NewRow, Removed, StoredRow},
    position::Position,
};

/// The rows of a log in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryRows {
    rows: BTreeMap<u64, Row>,
    names: BTreeMap<Box<str>, NameRow>,
}

#[derive(Clone, Debug)]
struct Row {
    name: Box<str>,
    event_id: Option<Box<str>>,
    stored: StoredRow,
}

impl MemoryRows {
    pub(crate) fn positions(&self) -> Vec<u64> {
        self.rows.keys().copied().collect()
    }

    fn take(&mut self, positions: Vec<u64>) -> Vec<Removed> {
        let rows = positions.into_iter().map(|position| {
            let row = self.rows.remove(&position).unwrap();
            Removed {
                name: row.name,
                position: Position(position),
                bytes: row.stored.text.len() as u64,
            }
        });
        rows.collect()
    }
}

impl EventRows for MemoryRows {
    type Error = Infallible;

    fn append(&mut self, row: &NewRow<'_>) -> Result<(), Infallible> {
        let last = self.rows.keys().next_back().copied();
        assert!(last.is_none_or(|last| last < row.position.0));
        let stored = StoredRow {
            position: row.position,
            at: row.at,
            group: row.group.map(Into::into),
            text: row.text.to_owned(),
        };
        let row = Row {
            name: row.name.into(),
            event_id: row.event_id.map(Into::into),
            stored,
        };
        self.rows.insert(row.stored.position.0, row);
        Ok(())
    }

    fn find(
        &self,
        name: &str,
        group: Option<&str>,
        event_id: &str,
    ) -> Result<Option<Position>, Infallible> {
        let is_it = |row: &&Row| {
            let is_of_group = row.stored.group.as_deref() == group;
            is_of_group && *row.name == *name && row.event_id.as_deref() == Some(event_id)
        };
        Ok(self
            .rows
            .values()
            .find(is_it)
            .map(|row| row.stored.position))
    }

    fn after(
        &self,
        name: &str,
        after: Position,
        take: &mut dyn FnMut(StoredRow) -> bool,
    ) -> Result<(), Infallible> {
        let rows = self.rows.range(after.0 + 1..);
        for (_, row) in rows.filter(|(_, row)| *row.name == *name) {
            if !take(row.stored.clone()) {
                break;
            }
        }
        Ok(())
    }

    fn since(
        &self,
        name: &str,
        after: Position,
        at: Millis,
    ) -> Result<Option<Position>, Infallible> {
        let mut rows = self.rows.range(after.0 + 1..);
        let first = rows.find(|(_, row)| *row.name == *name && row.stored.at >= at);
        Ok(first.map(|(position, _)| Position(*position)))
    }

    fn remove_oldest(
        &mut self,
        name: &str,
        count: usize,
        bytes: u64,
    ) -> Result<Vec<Removed>, Infallible> {
        let mut sum = 0;
        let rows = self.rows.iter().filter(|(_, row)| *row.name == *name);
        let rows = rows.take(count).take_while(|(_, row)| {
            let is_missing = sum < bytes;
            sum += row.stored.text.len() as u64;
            is_missing
        });
        let positions = rows.map(|(position, _)| *position).collect();
        Ok(self.take(positions))
    }

    fn remove_before(&mut self, at: Millis, count: usize) -> Result<Vec<Removed>, Infallible> {
        let rows = self.rows.iter().filter(|(_, row)| row.stored.at < at);
        let positions = rows.take(count).map(|(position, _)| *position).collect();
        Ok(self.take(positions))
    }

    fn names(&self) -> Result<Vec<NameRow>, Infallible> {
        Ok(self.names.values().cloned().collect())
    }

    fn keep_name(&mut self, row: &NameRow) -> Result<(), Infallible> {
        self.names.insert(row.name.clone(), row.clone());
        Ok(())
    }

    fn forget_name(&mut self, name: &str) -> Result<(), Infallible> {
        self.names.remove(name);
        Ok(())
    }
}
