use alloc::{string::String, vec::Vec};

use crate::{
    sorted::Map,
    vocabulary::{
        event::ServerEvent,
        position::Position,
        topic::{Subject, Topic},
    },
    wire::{Batch, Missed},
};

use super::{Bus, registry::EdgeId};

/// What somebody missed, read from the log and collapsed: the last event of each topic.
#[derive(Debug)]
pub(super) struct Replay {
    after: Position,
    last: Map<Subject, (Position, ServerEvent)>,
}

impl Replay {
    /// Of who has heard everything up to `after`.
    pub(super) fn new(after: Position) -> Self {
        Self {
            after,
            last: Map::new(),
        }
    }

    /// Up to where everything was heard.
    pub(super) fn after(&self) -> Position {
        self.after
    }

    /// The next event of the log that is wanted.
    pub(super) fn push(&mut self, position: Position, event: &ServerEvent) {
        let subject = Topic::subject_of(event);
        self.last.insert(subject, (position, event.clone()));
    }

    /// The batches that tell an edge, of bounded size, and the position that it has then heard.
    pub(super) fn batches(self) -> (Vec<String>, Position) {
        let mut heard = self.after;
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
            let through = batch.last().map_or(heard, |(position, _)| *position);
            let previous = core::mem::replace(&mut heard, through);
            let batch = batch.into_iter();
            batches.push(Batch::for_edge(Some(previous), through, None, batch));
        }
        (batches, heard)
    }

    /// The same in one answer: as many of the latest events as it may carry.
    pub(super) fn missed(self) -> Missed {
        let mut events = in_order(self.last);
        let mut bytes = 0;
        let is_beyond = |(_, event): &(Position, ServerEvent)| {
            bytes += event.to_json().len();
            bytes > ANSWER_BYTES
        };
        let beyond = events.iter().rposition(is_beyond);
        let left_out = beyond.and_then(|place| events.drain(..=place).next_back());
        Missed {
            after: left_out.map_or(self.after, |(position, _)| position),
            events,
        }
    }
}

/// What the log tells of what an edge has missed.
impl Bus {
    /// Whether it is known what the log tells; if not, [`Bus::recall`] comes before [`Bus::missed`].
    pub fn recalls(&self) -> bool {
        self.recent.is_some()
    }

    /// The next event of the log, all of which is told in order.
    pub fn recall(&mut self, position: Position, event: &ServerEvent) {
        let recent = self.recent.get_or_insert_default();
        recent.push(position, event);
    }

    /// Of the events after a position, those that an edge is to be told of, in order.
    pub fn missed(&self, edge: EdgeId, after: Position) -> Vec<Position> {
        let recent = self.recent.as_ref().zip(self.edges.topics(edge));
        recent.map_or_else(Vec::new, |(recent, topics)| recent.missed(topics, after))
    }
}

/// The last events of each topic, in the order of their positions.
fn in_order(last: Map<Subject, (Position, ServerEvent)>) -> Vec<(Position, ServerEvent)> {
    let by_key = last.into_entries();
    let by_position: Map<Position, ServerEvent> = by_key.map(|(_, logged)| logged).collect();
    by_position.into_entries().collect()
}

/// Text in one batch, and what its last event has beyond that.
const BATCH_BYTES: usize = 65_536;
/// A call may carry 32 MiB.
const ANSWER_BYTES: usize = 8 << 20;
