use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    position::{Cursor, Position},
    root,
};

use crate::{key::Key, session_rows::Broken};

/// The log on the disk of a bus, trimmed by count and age: each instance of the bus reads it
/// through a clone of this.
#[derive(Clone, Debug)]
pub(crate) struct Log(Rc<RefCell<Entries>>);

#[derive(Debug)]
struct Entries {
    epoch: usize,
    kept: VecDeque<Entry>,
    floor: u64,
    last: u64,
    window: usize,
    /// Everything that was ever published, for the checks.
    published: Vec<(Key, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    position: Position,
    key: Key,
    number: usize,
    at: Millis,
}

type Take<'t> = dyn FnMut(Position, &ServerEvent) + 't;

impl Log {
    pub(crate) fn new(epoch: usize, window: usize) -> Self {
        Self(Rc::new(RefCell::new(Entries {
            epoch,
            kept: VecDeque::new(),
            floor: 0,
            last: 0,
            window,
            published: Vec::new(),
        })))
    }

    /// Returns the log of a bus that lost this one.
    pub(crate) fn renewed(&self) -> Self {
        let entries = self.0.borrow();
        Self::new(entries.epoch + 1, entries.window)
    }

    pub(crate) fn append(&self, position: Position, key: Key, number: usize, now: Millis) {
        let mut entries = self.0.borrow_mut();
        entries.last = position.0;
        entries.published.push((key, number));
        entries.kept.push_back(Entry {
            position,
            key,
            number,
            at: now,
        });
        let is_old = |entry: &&Entry| entry.at + WINDOW_AGE < now;
        let aged = entries.kept.iter().take_while(is_old).count();
        let beyond = entries.kept.len().saturating_sub(entries.window);
        // In batches, as the log on a real disk.
        if beyond >= BATCH || aged > 0 {
            entries.trim(aged.max(beyond));
        }
    }

    /// Removes the oldest events; the last one stays, and marks the end of the log.
    pub(crate) fn trim(&self, count: usize) {
        self.0.borrow_mut().trim(count);
    }

    /// Returns the event at a position, even if it was trimmed.
    pub(crate) fn published(&self, position: Position) -> Option<(Key, usize)> {
        let place = usize::try_from(position.0.checked_sub(1)?).ok()?;
        self.0.borrow().published.get(place).copied()
    }
}

impl Entries {
    fn trim(&mut self, count: usize) {
        let count = count.min(self.kept.len().saturating_sub(1));
        for entry in self.kept.drain(..count) {
            self.floor = entry.position.0;
        }
    }
}

/// A read of what the log no longer holds fails.
impl root::Log for Log {
    type Error = Broken;

    fn cursor(&self) -> Cursor {
        let entries = self.0.borrow();
        Cursor {
            epoch: format!("e{}", entries.epoch).into(),
            position: Position(entries.last),
        }
    }

    fn floor(&self) -> Position {
        Position(self.0.borrow().floor)
    }

    fn after(&self, position: Position, take: &mut Take<'_>) -> Result<(), Broken> {
        if position < self.floor() {
            return Err(Broken);
        }
        let entries = self.0.borrow();
        for entry in entries.kept.iter().filter(|it| it.position > position) {
            take(entry.position, &entry.key.event(entry.number));
        }
        Ok(())
    }

    fn at(&self, positions: &[Position], take: &mut Take<'_>) -> Result<(), Broken> {
        let entries = self.0.borrow();
        for position in positions {
            let mut kept = entries.kept.iter();
            let entry = kept.find(|entry| entry.position == *position);
            let entry = entry.ok_or(Broken)?;
            take(*position, &entry.key.event(entry.number));
        }
        Ok(())
    }
}

const BATCH: usize = 3;
const WINDOW_AGE: Millis = Millis(600_000);
