//! The log of occurrences.

mod names;
mod rows;
mod window;

use alloc::boxed::Box;

use crate::{
    clock::Millis,
    vocabulary::position::{Cursor, Position},
};

use super::{
    cursor,
    name::EventName,
    occurrence::Draft,
    page::{LogQuery, Page},
};

use names::Names;

pub use rows::{EventRows, NameRow, NewRow, Removed, StoredRow};
pub use window::Window;

/// The receipt of an occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appended {
    /// The position of the occurrence.
    pub position: Position,
    /// The id of the occurrence.
    pub event_id: Box<str>,
    /// Whether it was added now; `false` if the log had it already.
    pub is_new: bool,
}

/// The log of occurrences of a bus: which it keeps, and what its readers get.
#[derive(Debug)]
pub struct EventLog<R> {
    rows: R,
    window: Window,
    names: Names,
    /// When the log last looked for occurrences that are too old.
    looked_at: Millis,
}

impl<R: EventRows> EventLog<R> {
    /// Opens the log in a store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn open(rows: R, window: Window) -> Result<Self, R::Error> {
        Ok(Self {
            names: Names::new(rows.names()?),
            rows,
            window,
            looked_at: Millis(0),
        })
    }

    /// Returns the store.
    pub fn rows(&self) -> &R {
        &self.rows
    }

    /// Whether the log has room for occurrences of this name: it holds those of a limited number of
    /// names.
    pub fn has_room(&self, name: &EventName) -> bool {
        self.names.has_room(name, self.window.names)
    }

    /// Adds an occurrence at `cursor`, a new position of the bus, unless the log holds one of this
    /// name and group with the same id. Removes occurrences that have left the window. See
    /// [`EventLog::has_room`].
    ///
    /// # Errors
    /// If the store cannot be read or written. Open the log again then.
    pub fn append(
        &mut self,
        draft: &Draft,
        cursor: &Cursor,
        now: Millis,
    ) -> Result<Appended, R::Error> {
        let event_id = draft.id_at(cursor);
        let known = match &draft.event_id {
            Some(event_id) => self
                .rows
                .find(&draft.name, draft.group.as_deref(), event_id)?,
            None => None,
        };
        if known.is_none() {
            self.make_room(&draft.name)?;
            self.add(draft, &event_id, cursor.position, now)?;
            self.trim(&draft.name, now)?;
        }
        Ok(Appended {
            position: known.unwrap_or(cursor.position),
            event_id: event_id.into(),
            is_new: known.is_none(),
        })
    }

    /// Returns the page for a query, for a log whose end is at `head`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn page(&self, question: &LogQuery, head: &Cursor, now: Millis) -> Result<Page, R::Error> {
        let mut page = Page::at_end(head);
        let Some(cursor) = &question.cursor else {
            return Ok(page);
        };
        (page.from, page.trimmed) = self.begin(&question.name, cursor, head);
        if let Some(age) = question.max_age_ms {
            let young = self.first_young(&question.name, page.from, head, now - age)?;
            page.skipped = young > page.from && self.has_any(question, page.from, young)?;
            page.from = young;
        }
        self.read(question, &mut page)?;
        Ok(page)
    }

    /// Returns where a reader goes on, and whether it has lost its place. A log with an empty epoch
    /// replays nothing, so no reader has a place in it that it could lose.
    fn begin(&self, name: &EventName, cursor: &str, head: &Cursor) -> (Position, bool) {
        let trimmed = self.names.trimmed(name);
        let replays = !head.epoch.is_empty();
        match cursor::from_text(cursor) {
            Some(cursor) if cursor.epoch == head.epoch => {
                let at = cursor.position.min(head.position);
                (at.max(trimmed), replays && at < trimmed)
            }
            _ if replays => (trimmed, true),
            _ => (head.position, false),
        }
    }

    /// Returns the position at or after `from` that only occurrences older than `at` precede.
    fn first_young(
        &self,
        name: &str,
        from: Position,
        head: &Cursor,
        at: Millis,
    ) -> Result<Position, R::Error> {
        let first = self.rows.since(name, from, at)?;
        Ok(first.map_or(head.position, Position::previous).max(from))
    }

    /// Whether the log has an occurrence for this reader after `from` and up to `to`; true also if
    /// that is not known after `max_scan` bytes.
    fn has_any(&self, question: &LogQuery, from: Position, to: Position) -> Result<bool, R::Error> {
        let mut has_any = false;
        let mut scanned = 0;
        self.rows.after(&question.name, from, &mut |row| {
            let is_before = row.position <= to;
            let is_too_much = scanned > question.max_scan;
            has_any |= is_before && (is_too_much || question.may_have(row.group.as_deref()));
            scanned += row.text.len();
            is_before && !has_any
        })?;
        Ok(has_any)
    }

    fn read(&self, question: &LogQuery, page: &mut Page) -> Result<(), R::Error> {
        let mut taken = 0;
        let mut scanned = 0;
        page.through = page.from;
        self.rows.after(&question.name, page.from, &mut |row| {
            let may_have = question.may_have(row.group.as_deref());
            let bytes = row.text.len();
            let is_full = page.events.len() >= question.max_events
                || (taken > 0 && taken + bytes > question.max_bytes);
            page.more = scanned > question.max_scan || (may_have && is_full);
            if page.more {
                return false;
            }
            scanned += bytes;
            page.through = row.position;
            if may_have {
                taken += bytes;
                page.events.extend(row.into_event());
            }
            true
        })?;
        if !page.more {
            page.through = page.head;
        }
        Ok(())
    }

    fn add(
        &mut self,
        draft: &Draft,
        event_id: &str,
        position: Position,
        now: Millis,
    ) -> Result<(), R::Error> {
        let text = draft.members(event_id, now);
        self.rows.append(&NewRow {
            position,
            at: now,
            name: &draft.name,
            group: draft.group.as_deref(),
            event_id: draft.event_id.as_deref(),
            text: &text,
        })?;
        match self.names.add(&draft.name, text.len() as u64) {
            Some(row) => self.rows.keep_name(row),
            None => Ok(()),
        }
    }

    /// Forgets a name without occurrences if there are too many names.
    fn make_room(&mut self, name: &EventName) -> Result<(), R::Error> {
        if self.names.knows(name) || self.names.len() < self.window.names {
            return Ok(());
        }
        if let Some(forgotten) = self.names.forget() {
            self.rows.forget_name(&forgotten)?;
            self.rows.keep_name(self.names.forgotten())?;
        }
        Ok(())
    }

    /// Removes what has left the window after an occurrence of this name was added: of this name
    /// by count, of all names by age and bytes.
    fn trim(&mut self, name: &EventName, now: Millis) -> Result<(), R::Error> {
        if self.names.count(name) > self.window.events {
            let removed = self
                .rows
                .remove_oldest(name, self.window.batch(), u64::MAX)?;
            self.removed(&removed)?;
        }
        if self.names.bytes() > self.window.bytes {
            self.trim_bytes(name)?;
        }
        if now - self.looked_at >= self.window.look_ms() {
            let before = now - self.window.age();
            let removed = self.rows.remove_before(before, MAX_REMOVED)?;
            // If there may be more, the next occurrence removes it.
            if removed.len() < MAX_REMOVED {
                self.looked_at = now;
            }
            self.removed(&removed)?;
        }
        Ok(())
    }

    /// Removes occurrences of the names with the most bytes until a part of the byte limit is free,
    /// so that not every publish removes some. The newest occurrence, of this name, is kept.
    fn trim_bytes(&mut self, newest: &EventName) -> Result<(), R::Error> {
        while self.names.bytes() > self.window.bytes_after_trim() {
            let Some(share) = self.names.largest_share(newest) else {
                break;
            };
            let removed = self
                .rows
                .remove_oldest(&share.name, share.count, share.bytes)?;
            if removed.is_empty() {
                break;
            }
            self.removed(&removed)?;
        }
        Ok(())
    }

    fn removed(&mut self, removed: &[Removed]) -> Result<(), R::Error> {
        for name in self.names.remove(removed) {
            if let Some(row) = self.names.get(&name) {
                self.rows.keep_name(row)?;
            }
        }
        Ok(())
    }
}

/// Occurrences that are removed together at most because they are too old: after a silence that
/// may be all of them, too many for the memory of the host.
const MAX_REMOVED: usize = 2_000;
