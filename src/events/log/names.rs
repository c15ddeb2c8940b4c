use alloc::{boxed::Box, vec::Vec};

use crate::{
    sorted::{Map, Set},
    vocabulary::position::Position,
};

use super::rows::{NameRow, Removed};

/// What a log holds of each name, and up to where it has removed occurrences.
#[derive(Debug, Default)]
pub(super) struct Names {
    rows: Map<Box<str>, NameRow>,
    /// For the names that were forgotten.
    forgotten: NameRow,
    bytes: u64,
}

/// A part of the occurrences of a name: the oldest ones.
#[derive(Debug)]
pub(super) struct OldestShare {
    pub(super) name: Box<str>,
    /// At most this many.
    pub(super) count: usize,
    /// As few as have this many bytes.
    pub(super) bytes: u64,
}

impl Names {
    pub(super) fn new(rows: Vec<NameRow>) -> Self {
        let mut names = Self::default();
        for row in rows {
            names.bytes += row.bytes;
            if row.name.is_empty() {
                names.forgotten = row;
            } else {
                names.rows.insert(row.name.clone(), row);
            }
        }
        names
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The bytes of all occurrences.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a name has a place among `max` names, or another one can be forgotten for it.
    pub(super) fn has_room(&self, name: &str, max: usize) -> bool {
        self.knows(name) || self.len() < max || self.rows.values().any(|row| row.count == 0)
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        self.rows.contains_key(name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&NameRow> {
        self.rows.get(name)
    }

    pub(super) fn forgotten(&self) -> &NameRow {
        &self.forgotten
    }

    pub(super) fn count(&self, name: &str) -> usize {
        self.get(name).map_or(0, |row| row.count)
    }

    /// Returns the position up to which occurrences of the name were removed.
    pub(super) fn trimmed(&self, name: &str) -> Position {
        self.get(name).unwrap_or(&self.forgotten).trimmed
    }

    /// Counts a new occurrence. Returns what to store.
    pub(super) fn add(&mut self, name: &str, bytes: u64) -> Option<&NameRow> {
        self.bytes += bytes;
        if !self.knows(name) {
            let row = NameRow {
                name: name.into(),
                trimmed: self.forgotten.trimmed,
                ..NameRow::default()
            };
            self.rows.insert(name.into(), row);
        }
        let row = self.rows.get_mut(name)?;
        row.count += 1;
        row.bytes += bytes;
        Some(row)
    }

    /// Returns what to remove next if there are too many bytes: a part of the name that has the
    /// most, except the newest occurrence of all, whose name this is.
    pub(super) fn largest_share(&self, newest: &str) -> Option<OldestShare> {
        let removable = |row: &NameRow| row.count.saturating_sub((*row.name == *newest).into());
        let rows = self.rows.values().filter(|row| removable(row) > 0);
        let row = rows.max_by_key(|row| row.bytes)?;
        Some(OldestShare {
            name: row.name.clone(),
            count: removable(row),
            bytes: (row.bytes / SHARES).max(1),
        })
    }

    /// Counts occurrences that were removed. Returns their names.
    pub(super) fn remove(&mut self, removed: &[Removed]) -> Vec<Box<str>> {
        let mut names = Set::default();
        for Removed {
            name,
            position,
            bytes,
        } in removed
        {
            self.bytes = self.bytes.saturating_sub(*bytes);
            if let Some(row) = self.rows.get_mut(name) {
                row.count = row.count.saturating_sub(1);
                row.bytes = row.bytes.saturating_sub(*bytes);
                row.trimmed = row.trimmed.max(*position);
                names.insert(name.clone());
            }
        }
        names.into_keys().collect()
    }

    /// Forgets the name without occurrences whose last one was removed first. Returns it.
    pub(super) fn forget(&mut self) -> Option<Box<str>> {
        let empty = self.rows.values().filter(|row| row.count == 0);
        let oldest = empty.min_by_key(|row| row.trimmed)?.clone();
        self.rows.remove(&oldest.name);
        self.forgotten.trimmed = self.forgotten.trimmed.max(oldest.trimmed);
        Some(oldest.name)
    }
}

/// The number of parts in which the occurrences of a name are removed.
const SHARES: u64 = 10;
