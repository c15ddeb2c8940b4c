use crate::{
    event::ServerEvent,
    position::Position,
    seeded::{self, Bug},
    sorted::Map,
    topic::{Subject, Topic, Topics},
};

use super::{frames::event_frame, interest::Interest};

/// What one edge missed, read from the log and collapsed: the last event of each topic, in
/// the order of their positions.
#[derive(Debug)]
pub struct Replay {
    topics: Topics,
    after: Position,
    last: Map<Subject, (Position, ServerEvent)>,
}

impl Replay {
    /// Begins a replay for an edge that wants this and has heard everything up to `after`.
    pub fn new(interest: &Interest, after: Position) -> Self {
        Self::of(interest.topics(), after)
    }

    /// As [`Replay::new`], with what it wants as topics.
    pub(crate) fn of(topics: Topics, after: Position) -> Self {
        Self {
            topics,
            after,
            last: Map::new(),
        }
    }

    /// The next event of the log.
    pub fn push(&mut self, position: Position, event: &ServerEvent) {
        if self.topics.accepts(event) {
            let topic = Topic::subject_of(event);
            if seeded::has(Bug::ReplaysTheFirst) && self.last.contains_key(&topic) {
                return;
            }
            self.last.insert(topic, (position, event.clone()));
        }
    }

    /// The frames to send, and the position that the edge has then heard.
    pub fn frames(self) -> (Vec<String>, Position) {
        let missed = in_order(self.last);
        let mut heard = self.after;
        let frames = missed.into_iter().map(|(position, event)| {
            let previous = std::mem::replace(&mut heard, position);
            event_frame(position, Some(previous), None, &event.to_json())
        });
        (frames.collect(), heard)
    }
}

/// The last events of each topic, in the order of their positions.
pub(super) fn in_order(
    last: Map<Subject, (Position, ServerEvent)>,
) -> Vec<(Position, ServerEvent)> {
    let by_key = last.into_entries();
    let by_position: Map<Position, ServerEvent> = by_key.map(|(_, logged)| logged).collect();
    by_position.into_entries().collect()
}
