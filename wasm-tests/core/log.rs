//! A log in memory, and the root of a bus that reads it.

use std::{cell::RefCell, rc::Rc};

use mcp_listen::{
    event::ServerEvent,
    position::{Cursor, Position},
    root,
};

use crate::sessions::rows::Rows;

/// A log, whose first epoch is `e`. Its clones share the events, which outlive a root.
#[derive(Clone, Debug)]
pub(crate) struct Log(Rc<RefCell<Entries>>);

#[derive(Debug)]
struct Entries {
    epoch: String,
    events: Vec<ServerEvent>,
    floor: Position,
    /// After how many events the next read fails.
    fails_after: Option<usize>,
}

/// The error of a read that failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

pub(crate) type Root = root::Root<Log, Rows>;

type Take<'t> = dyn FnMut(Position, &ServerEvent) + 't;

impl Default for Log {
    fn default() -> Self {
        Self::of("e".to_owned())
    }
}

impl Log {
    fn of(epoch: String) -> Self {
        Self(Rc::new(RefCell::new(Entries {
            epoch,
            events: Vec::new(),
            floor: Position(0),
            fails_after: None,
        })))
    }

    /// Returns an empty log with another epoch, as after the loss of the disk.
    pub(crate) fn after_loss(&self) -> Self {
        Self::of(format!("{}e", self.0.borrow().epoch))
    }

    pub(crate) fn push(&self, event: &ServerEvent) {
        self.0.borrow_mut().events.push(event.clone());
    }

    /// Keeps only the last `count` events.
    pub(crate) fn trim(&self, count: u64) {
        let mut entries = self.0.borrow_mut();
        let last = entries.events.len() as u64;
        entries.floor = entries.floor.max(Position(last.saturating_sub(count)));
    }

    /// Makes the next read fail after so many events.
    pub(crate) fn fail_after(&self, events: usize) {
        self.0.borrow_mut().fails_after = Some(events);
    }

    /// Returns a root without sessions.
    pub(crate) fn root(&self) -> Root {
        Root::new(self.clone(), None)
    }
}

impl root::Log for Log {
    type Error = Unreadable;

    fn cursor(&self) -> Cursor {
        let entries = self.0.borrow();
        Cursor {
            epoch: entries.epoch.as_str().into(),
            position: Position(entries.events.len() as u64),
        }
    }

    fn floor(&self) -> Position {
        self.0.borrow().floor
    }

    fn after(&self, position: Position, take: &mut Take<'_>) -> Result<(), Unreadable> {
        assert!(
            position >= self.floor(),
            "the log does not reach back so far"
        );
        let fails_after = self.0.borrow_mut().fails_after.take();
        let entries = self.0.borrow();
        let numbered = (1..).map(Position).zip(&entries.events);
        let later = numbered.filter(|(at, _)| *at > position);
        for (at, event) in later.take(fails_after.unwrap_or(usize::MAX)) {
            take(at, event);
        }
        fails_after.map_or(Ok(()), |_| Err(Unreadable))
    }

    fn at(&self, positions: &[Position], take: &mut Take<'_>) -> Result<(), Unreadable> {
        assert!(positions.is_sorted());
        let after = positions
            .first()
            .map_or(self.cursor().position, |first| first.previous());
        self.after(after, &mut |position, event| {
            if positions.contains(&position) {
                take(position, event);
            }
        })
    }
}
