use mcp_listen::{bus::Mark, clock::Millis};

use crate::{
    invariant::Violation,
    key::{KEYS, Key},
};

/// The publisher's own list of what was published: events are numbered from 1 over all epochs.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    events: Vec<Mark>,
    last: [usize; KEYS],
}

impl Ledger {
    /// Writes down what has a place on disk now: in one epoch each event has the position after the
    /// one before.
    pub(crate) fn write(&mut self, key: Key, mark: Mark) -> Result<(), Violation> {
        let former = self.events.last().filter(|last| last.epoch == mark.epoch);
        let expected = former.map_or(1, |former| former.position.0 + 1);
        if mark.position.0 != expected {
            let found = mark.position.0;
            return Err(Violation::new(
                "positions of one epoch go up by one",
                format!("{} got position {found}, not {expected}", key.name()),
            ));
        }
        self.events.push(mark);
        self.last[key.index()] = self.events.len();
        Ok(())
    }

    /// The number of the last event; 0 before any.
    pub(crate) fn now(&self) -> usize {
        self.events.len()
    }

    /// The number of the last event of a key; 0 where there is none.
    pub(crate) fn last(&self, key: Key) -> usize {
        self.last[key.index()]
    }

    /// The same, where a stream that stands at `mark` has it behind it. What came before may have
    /// collapsed into it.
    pub(crate) fn last_up_to(&self, key: Key, mark: &Mark) -> Option<usize> {
        let last = self.last(key);
        let event = self.events.get(last.checked_sub(1)?)?;
        let is_behind = event.epoch == mark.epoch && event.position <= mark.position;
        is_behind.then_some(last)
    }
}

/// Milliseconds as the traces write them.
pub(crate) fn time(now: Millis) -> String {
    let (seconds, rest) = (now.0 / 1_000, now.0 % 1_000);
    format!("{seconds}.{rest:03}")
}
