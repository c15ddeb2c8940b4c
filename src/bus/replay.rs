use alloc::{string::String, vec::Vec};

use crate::{
    sorted::Map,
    vocabulary::{
        event::ServerEvent,
        position::Position,
        topic::{Subject, Topic},
    },
    wire::{Backlog, Batch},
};

/// The events that a receiver missed, collapsed to the latest of each topic.
#[derive(Debug)]
pub(super) struct Replay {
    after: Position,
    last: Map<Subject, (Position, ServerEvent)>,
}

impl Replay {
    /// Creates the replay for a receiver that has every event up to `after`.
    pub(super) fn new(after: Position) -> Self {
        Self {
            after,
            last: Map::new(),
        }
    }

    /// Returns the position up to which the receiver has every event.
    pub(super) fn after(&self) -> Position {
        self.after
    }

    /// Adds the next wanted event of the log.
    pub(super) fn push(&mut self, position: Position, event: &ServerEvent) {
        let subject = Topic::subject_of(event);
        self.last.insert(subject, (position, event.clone()));
    }

    /// Returns the batches for an edge, of bounded size, and the position that it has reached after
    /// them.
    pub(super) fn batches(self) -> (Vec<String>, Position) {
        let mut reached = self.after;
        let mut batches = Vec::new();
        let mut events = in_order(self.last).into_iter().peekable();
        while events.peek().is_some() {
            let mut bytes = 0;
            let mut batch = Vec::new();
            while let Some((position, event)) = events.next_if(|_| bytes < BATCH_BYTES) {
                let text = event.to_json();
                bytes += text.len();
                batch.push((position, text));
            }
            let through = batch.last().map_or(reached, |(position, _)| *position);
            let previous = core::mem::replace(&mut reached, through);
            let batch = batch.into_iter();
            batches.push(Batch::for_edge(Some(previous), through, None, batch));
        }
        (batches, reached)
    }

    /// Returns the events for one reply: as many of the latest as fit.
    pub(super) fn missed(self) -> Backlog {
        let mut events = in_order(self.last);
        let mut bytes = 0;
        let is_beyond = |(_, event): &(Position, ServerEvent)| {
            bytes += event.to_json().len();
            bytes > MAX_REPLY_BYTES
        };
        let beyond = events.iter().rposition(is_beyond);
        let left_out = beyond.and_then(|place| events.drain(..=place).next_back());
        Backlog {
            after: left_out.map_or(self.after, |(position, _)| position),
            events,
        }
    }
}

/// Returns the latest events of each topic in the order of their positions.
fn in_order(last: Map<Subject, (Position, ServerEvent)>) -> Vec<(Position, ServerEvent)> {
    let by_key = last.into_entries();
    let by_position: Map<Position, ServerEvent> = by_key.map(|(_, logged)| logged).collect();
    by_position.into_entries().collect()
}

/// Bytes of events after which a batch takes no further one.
const BATCH_BYTES: usize = 65_536;
/// Maximum bytes of events in one reply, below the limit of a call (32 MiB).
const MAX_REPLY_BYTES: usize = 8 << 20;
