//! Counters for the streams of one server.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Millis;

/// Counters that several streams share. They only grow, but for a notification that had no room: it
/// is counted when it is published, and uncounted before the next publish. They contain nothing
/// about a client, a resource or an id.
#[derive(Debug, Default)]
pub struct Metrics {
    events: AtomicU64,
    frames: AtomicU64,
    collapsed: AtomicU64,
    waited: AtomicU64,
    waits: [AtomicU64; BOUNDS.len() + 1],
}

/// A snapshot of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetricsSnapshot {
    /// Events that a stream honored, counted once for each stream.
    pub events: u64,
    /// Notifications that were written.
    pub frames: u64,
    /// Events that were collapsed with an earlier, still pending one.
    pub collapsed: u64,
    /// Total milliseconds that the notifications of `waits` took.
    pub waited: u64,
    /// Notifications by the time since the publish of the first event that they cover: up to each
    /// of [`BOUNDS`], and longer. Excludes those whose publish time is unknown.
    pub waits: [u64; BOUNDS.len() + 1],
}

impl Metrics {
    /// Counts an event for a stream; `is_collapsed` says that one for the same topic was pending.
    pub fn count_event(&self, is_collapsed: bool) {
        add(&self.events);
        if is_collapsed {
            add(&self.collapsed);
        }
    }

    /// Counts a notification, written this long after its publish.
    pub fn count_frame(&self, wait: Option<Millis>) {
        add(&self.frames);
        let Some(wait) = wait else {
            return;
        };
        self.waited.fetch_add(wait.0, Ordering::Relaxed);
        let place = BOUNDS.partition_point(|bound| *bound < wait);
        self.waits.get(place).map(add);
    }

    /// Counts an event that was written to this many streams at once, this long after its publish.
    pub(crate) fn count_written(&self, streams: u64, wait: Option<Millis>) {
        let waited = wait.unwrap_or_default().0.saturating_mul(streams);
        self.waited.fetch_add(waited, Ordering::Relaxed);
        for count in self.counters(wait) {
            count.fetch_add(streams, Ordering::Relaxed);
        }
    }

    /// Undoes the count of an event that was not written to a stream after all; `wait` is the one
    /// that it was counted with.
    pub(crate) fn uncount(&self, wait: Option<Millis>) {
        let waited = wait.unwrap_or_default().0;
        take(&self.waited, waited);
        for count in self.counters(wait) {
            take(count, 1);
        }
    }

    /// Returns the counters for an event that is written this long after its publish.
    fn counters(&self, wait: Option<Millis>) -> impl Iterator<Item = &AtomicU64> {
        let class = wait.and_then(|wait| {
            let place = BOUNDS.partition_point(|bound| *bound < wait);
            self.waits.get(place)
        });
        [&self.events, &self.frames].into_iter().chain(class)
    }

    /// Returns a snapshot of the counters.
    pub fn read(&self) -> MetricsSnapshot {
        let mut waits = [0; BOUNDS.len() + 1];
        for (count, wait) in waits.iter_mut().zip(&self.waits) {
            *count = wait.load(Ordering::Relaxed);
        }
        MetricsSnapshot {
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

fn take(count: &AtomicU64, amount: u64) {
    count.update(Ordering::Relaxed, Ordering::Relaxed, |count| {
        count.saturating_sub(amount)
    });
}

/// The upper bounds, in milliseconds, of the classes of [`MetricsSnapshot::waits`], except for the
/// last class.
pub const BOUNDS: [Millis; 6] = [
    Millis(5),
    Millis(20),
    Millis(100),
    Millis(500),
    Millis(2_000),
    Millis(10_000),
];
