//! What the streams of one server went through, counted together.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Millis;

/// Counts for all streams that share it; they only grow, between one call and the next. Nothing in it tells of a client, a resource or an id.
#[derive(Debug, Default)]
pub struct Tally {
    events: AtomicU64,
    frames: AtomicU64,
    collapsed: AtomicU64,
    waited: AtomicU64,
    waits: [AtomicU64; BOUNDS.len() + 1],
}

/// The counts of one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Events that a stream honored, once for each stream.
    pub events: u64,
    /// Notifications that were written.
    pub frames: u64,
    /// Events that were told together with an earlier one, which still waited for the reader.
    pub collapsed: u64,
    /// Milliseconds that the notifications of `waits` took together.
    pub waited: u64,
    /// Notifications by how long it took from the publish of the first event that they tell of: up to
    /// [`BOUNDS`], and longer. Those whose publish is too long ago to be known are not among them.
    pub waits: [u64; BOUNDS.len() + 1],
}

impl Tally {
    /// An event for a stream, on which one for the same key waits or not.
    pub fn count_event(&self, is_collapsed: bool) {
        add(&self.events);
        if is_collapsed {
            add(&self.collapsed);
        }
    }

    /// A notification was written, so long after its publish.
    pub fn count_frame(&self, wait: Option<Millis>) {
        add(&self.frames);
        let Some(wait) = wait else {
            return;
        };
        self.waited.fetch_add(wait.0, Ordering::Relaxed);
        let place = BOUNDS.partition_point(|bound| *bound < wait);
        self.waits.get(place).map(add);
    }

    /// An event was written at once to so many streams, so long after its publish.
    pub(crate) fn count_told(&self, streams: u64, wait: Option<Millis>) {
        let waited = wait.unwrap_or_default().0.saturating_mul(streams);
        self.waited.fetch_add(waited, Ordering::Relaxed);
        for count in self.told(wait) {
            count.fetch_add(streams, Ordering::Relaxed);
        }
    }

    /// An event and its notification were not written after all, so long after its publish.
    pub(crate) fn take_back(&self, wait: Option<Millis>) {
        let waited = wait.unwrap_or_default().0;
        self.waited.fetch_sub(waited, Ordering::Relaxed);
        for count in self.told(wait) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// What an event counts in that is written so long after its publish.
    fn told(&self, wait: Option<Millis>) -> impl Iterator<Item = &AtomicU64> {
        let class = wait.and_then(|wait| {
            let place = BOUNDS.partition_point(|bound| *bound < wait);
            self.waits.get(place)
        });
        [&self.events, &self.frames].into_iter().chain(class)
    }

    /// What was counted so far.
    pub fn read(&self) -> Counted {
        let mut waits = [0; BOUNDS.len() + 1];
        for (count, wait) in waits.iter_mut().zip(&self.waits) {
            *count = wait.load(Ordering::Relaxed);
        }
        Counted {
            events: self.events.load(Ordering::Relaxed),
            frames: self.frames.load(Ordering::Relaxed),
            collapsed: self.collapsed.load(Ordering::Relaxed),
            waited: self.waited.load(Ordering::Relaxed),
            waits,
        }
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// The largest waits of the classes of [`Counted::waits`], but for the last one.
pub const BOUNDS: [Millis; 6] = [
    Millis(5),
    Millis(20),
    Millis(100),
    Millis(500),
    Millis(2_000),
    Millis(10_000),
];
