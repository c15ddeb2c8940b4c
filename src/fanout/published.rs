use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::{
    clock::Millis,
    metrics::Metrics,
    sorted::Map,
    vocabulary::{event::ServerEvent, position::Position, topic::Topic},
};

/// An event to deliver to the streams of a [`Fanout`](super::Fanout).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    /// What changed.
    pub event: ServerEvent,
    /// When it was published; `None` if that is unknown.
    pub at: Option<Millis>,
    /// Its position in the log of the bus; `None` without a log.
    pub position: Option<Position>,
    /// The number of earlier events with the same subject that it replaces.
    pub(crate) repeats: usize,
}

impl Published {
    pub(super) fn at(event: ServerEvent, at: Millis) -> Self {
        Self {
            event,
            at: Some(at),
            position: None,
            repeats: 0,
        }
    }
}

/// The events of a publish: for each subject the latest.
#[derive(Debug, Default)]
pub(super) struct LastPublish {
    pub(super) events: Vec<Published>,
    /// When their chunks were returned, and counted as written.
    pub(super) at: Millis,
}

/// Collapses the events to one for each subject: the latest, in the place of the first since the
/// last disconnect. The caller that was disconnected gets nothing later.
pub(super) fn collapsed(events: Vec<Published>) -> Vec<Published> {
    let mut places = Map::default();
    let mut latest: Vec<Published> = Vec::new();
    for published in events {
        if matches!(published.event, ServerEvent::Disconnect { .. }) {
            places.clear();
        }
        let subject = Topic::subject_of(&published.event);
        let place: Option<usize> = places.get(&subject).copied();
        if let Some(former) = place.and_then(|place| latest.get_mut(place)) {
            *former = Published {
                position: former.position.max(published.position),
                repeats: former.repeats + published.repeats + 1,
                ..published
            };
        } else {
            places.insert(subject, latest.len());
            latest.push(published);
        }
    }
    latest
}

/// Counts the streams that get an event at once, with one addition for each run of streams with the
/// same metrics.
#[derive(Debug)]
pub(super) struct DeliveryCount {
    wait: Option<Millis>,
    metrics: Option<Arc<Metrics>>,
    streams: u64,
}

impl DeliveryCount {
    /// Starts counting; `wait` is the time since the publish.
    pub(super) fn new(wait: Option<Millis>) -> Self {
        Self {
            wait,
            metrics: None,
            streams: 0,
        }
    }

    pub(super) fn count(&mut self, metrics: Option<&Arc<Metrics>>) {
        let is_same = match (&self.metrics, metrics) {
            (Some(former), Some(metrics)) => Arc::ptr_eq(former, metrics),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            self.flush();
            self.metrics = metrics.cloned();
        }
        self.streams += 1;
    }

    pub(super) fn end(mut self) {
        self.flush();
    }

    fn flush(&mut self) {
        let streams = core::mem::take(&mut self.streams);
        if let Some(metrics) = &self.metrics {
            metrics.count_written(streams, self.wait);
        }
    }
}
