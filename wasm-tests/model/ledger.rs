use mcp_listen::{clock::Millis, position::Cursor};

use crate::{
    invariant::Violation,
    key::{KEYS, Key},
};

/// The publisher's list of published events, numbered from 1 over all epochs.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    events: Vec<Cursor>,
    last: [usize; KEYS],
}

impl Ledger {
    /// Records what is on disk now: in one epoch each event has the position after the previous
    /// one.
    pub(crate) fn write(&mut self, key: Key, cursor: Cursor) -> Result<(), Violation> {
        let former = self.events.last().filter(|last| last.epoch == cursor.epoch);
        let expected = former.map_or(1, |former| former.position.0 + 1);
        if cursor.position.0 != expected {
            let found = cursor.position.0;
            return Err(Violation::new(
                "positions of one epoch go up by one",
                format!("{} got position {found}, not {expected}", key.name()),
            ));
        }
        self.events.push(cursor);
        self.last[key.index()] = self.events.len();
        Ok(())
    }

    /// The number of the last event; 0 before any.
    pub(crate) fn now(&self) -> usize {
        self.events.len()
    }

    /// The number of the last event of a key; 0 if there is none.
    pub(crate) fn last(&self, key: Key) -> usize {
        self.last[key.index()]
    }

    /// The same for a stream that has reached `cursor`. Earlier events may have collapsed into it.
    pub(crate) fn last_up_to(&self, key: Key, cursor: &Cursor) -> Option<usize> {
        let last = self.last(key);
        let event = self.events.get(last.checked_sub(1)?)?;
        let is_behind = event.epoch == cursor.epoch && event.position <= cursor.position;
        is_behind.then_some(last)
    }
}

/// Milliseconds as traces write them.
pub(crate) fn time(now: Millis) -> String {
    let (seconds, rest) = (now.0 / 1_000, now.0 % 1_000);
    format!("{seconds}.{rest:03}")
}
