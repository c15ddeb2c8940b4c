use std::collections::VecDeque;

use mcp_listen::{filter::SubscriptionFilter, listen::ServerStream};

use crate::{
    invariant::{Violation, ensure},
    key::{KEYS, Key},
};

/// The content of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Everything that it honors may have changed.
    All,
    Change(Key),
}

/// The expected pending cues of a stream: at most one for each key, in the order in which the keys
/// became pending.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    queue: VecDeque<Key>,
    /// The latest state of each task that was ever written.
    written: [usize; KEYS],
}

impl Pending {
    /// Frames were handled: their additions must be at the end, and nothing else may have moved.
    pub(crate) fn handle(
        &mut self,
        contents: &[Content],
        stream: &ServerStream,
    ) -> Result<(), Violation> {
        let first = contents.first().copied();
        let honored = stream.honored();
        let count = stream.pending_cues();
        ensure(
            "at most one cue per topic is pending",
            count <= KEYS,
            || format!("{count} cues wait"),
        )?;
        let added = count.saturating_sub(self.queue.len());
        let expected: Vec<Key> = match first {
            Some(Content::Change(_)) if contents.len() > 1 => self.new_of(contents),
            Some(Content::Change(key)) if added == 1 => vec![key],
            Some(Content::All) if added > 0 => {
                let subjects = honored.subjects();
                let keys = subjects.iter().map(Key::of);
                keys.filter(|key| !self.queue.contains(key)).collect()
            }
            _ => Vec::new(),
        };
        let is_new = expected.iter().all(|key| !self.queue.contains(key));
        self.queue.extend(&expected);
        let is_right = is_new && (count == self.queue.len() || is_over(stream));
        ensure("each topic is pending once, in its place", is_right, || {
            format!(
                "{count} cues wait after {first:?}, where {:?} should",
                self.queue
            )
        })
    }

    /// Cues of resources that the session is no longer subscribed to are dropped.
    pub(crate) fn retain(&mut self, honored: &SubscriptionFilter) {
        self.queue.retain(|key| honored.accepts(&key.event(0)));
    }

    /// A cue is written while none is pending.
    pub(crate) fn pass(&mut self, key: Key) -> Result<(), Violation> {
        ensure(
            "nothing overtakes a pending cue",
            self.queue.is_empty(),
            || format!("{} was written before {:?}", key.name(), self.queue),
        )?;
        self.queue.push_back(key);
        Ok(())
    }

    /// The number of cues that were added to pending ones.
    pub(crate) fn added(&self, stream: &ServerStream) -> usize {
        stream.pending_cues().saturating_sub(self.queue.len())
    }

    fn new_of(&self, contents: &[Content]) -> Vec<Key> {
        let keys = contents.iter().filter_map(|contents| match contents {
            Content::Change(key) => Some(*key),
            Content::All => None,
        });
        keys.filter(|key| !self.queue.contains(key)).collect()
    }

    /// The stream was closed after an unknown gap: each list and resource is pending now.
    pub(crate) fn handle_closed(&mut self, stream: &ServerStream) {
        if stream.pending_cues() > self.queue.len() {
            let subjects = stream.honored().subjects();
            let keys: Vec<_> = subjects.iter().map(Key::of).collect();
            for key in keys {
                if !self.queue.contains(&key) {
                    self.queue.push_back(key);
                }
            }
        }
    }

    /// A cue was written.
    pub(crate) fn take(&mut self, key: Key, number: Option<usize>) -> Result<(), Violation> {
        let first = self.queue.pop_front();
        ensure(
            "cues leave in the order in which they became pending",
            first == Some(key),
            || {
                let first = first.map_or("nothing", Key::name);
                format!("{} left where {first} was first", key.name())
            },
        )?;
        let Some(number) = number else { return Ok(()) };
        let written = &mut self.written[key.index()];
        let former = std::mem::replace(written, number);
        ensure("a task's state never goes back", number >= former, || {
            format!(
                "state {number} of {} was written after {former}",
                key.name()
            )
        })
    }

    /// The latest state of a task that was written.
    pub(crate) fn written(&self, key: Key) -> usize {
        self.written[key.index()]
    }

    pub(crate) fn has(&self, key: Key) -> bool {
        self.queue.contains(&key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// A stream that was dropped loses its pending cues.
fn is_over(stream: &ServerStream) -> bool {
    stream.is_ending()
}
