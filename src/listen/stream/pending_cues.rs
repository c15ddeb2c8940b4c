use alloc::{boxed::Box, sync::Arc};

use crate::{
    clock::Millis,
    metrics::Metrics,
    vocabulary::{event::ServerEvent, position::Position},
};

use super::cues::{Cues, Since};

/// The pending cues of one stream, and where they are counted.
#[derive(Debug, Default)]
pub(super) struct PendingCues {
    /// Allocated when a cue first becomes pending: most streams are idle most of the time.
    cues: Option<Box<Cues>>,
    metrics: Option<Arc<Metrics>>,
}

impl PendingCues {
    pub(super) fn count_in(&mut self, metrics: Arc<Metrics>) {
        self.metrics = Some(metrics);
    }

    pub(super) fn metrics(&self) -> Option<&Arc<Metrics>> {
        self.metrics.as_ref()
    }

    /// Queues a cue, and counts no event. Returns whether one for the same topic was pending.
    pub(super) fn push(&mut self, event: &ServerEvent, since: Since) -> bool {
        self.cues.get_or_insert_default().push(event, since)
    }

    /// Queues the cue of an event, and counts the event.
    pub(super) fn push_event(&mut self, event: &ServerEvent, since: Since) {
        let is_collapsed = self.push(event, since);
        if let Some(metrics) = &self.metrics {
            metrics.count_event(is_collapsed);
        }
    }

    /// Removes the next cue, and counts it as written.
    pub(super) fn pop(&mut self, now: Millis) -> Option<ServerEvent> {
        let (event, since) = self.cues.as_mut()?.pop()?;
        if let Some(metrics) = &self.metrics {
            metrics.count_frame(since.published.map(|published| now - published));
        }
        Some(event)
    }

    /// Undoes the count of an event that was counted as written this long after its publish.
    pub(super) fn uncount(&self, wait: Option<Millis>) {
        if let Some(metrics) = &self.metrics {
            metrics.uncount(wait);
        }
    }

    /// Counts further events that were collapsed into one.
    pub(super) fn count_repeats(&self, repeats: usize) {
        if let Some(metrics) = &self.metrics {
            (0..repeats).for_each(|_| metrics.count_event(true));
        }
    }

    /// Drops the cues that are no longer honored.
    pub(super) fn retain(&mut self, is_honored: impl Fn(&ServerEvent) -> bool) {
        if let Some(cues) = &mut self.cues {
            cues.retain(is_honored);
        }
    }

    /// Returns the position up to which nothing is pending, see [`Cues::covered`].
    pub(super) fn covered(&self, latest: Position) -> Option<Position> {
        let cues = self.cues.as_ref();
        cues.map_or(Some(latest), |cues| cues.covered(latest))
    }

    pub(super) fn len(&self) -> usize {
        self.cues.as_ref().map_or(0, |cues| cues.len())
    }

    /// Drops all cues.
    pub(super) fn clear(&mut self) {
        self.cues = None;
    }

    /// Frees the queue if it is empty.
    pub(super) fn release(&mut self) {
        self.cues.take_if(|cues| cues.len() == 0);
    }
}
