use crate::{
    event::ServerEvent,
    position::{Mark, Position},
    seeded::{self, Bug},
    sorted::Map,
    topic::{Subject, Topic, Topics},
};

use super::{Bus, edges::EdgeId, frames::event_frame, interest::Interest};

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

    /// Of the events after a position, those that an attached edge is to be told of, in order.
    pub fn missed(&self, edge: EdgeId, after: Position) -> Vec<Position> {
        let recent = self.recent.as_ref().zip(self.edges.get(edge));
        recent.map_or_else(Vec::new, |(recent, attached)| {
            recent.missed(attached.topics(), after)
        })
    }

    /// Begins the replay that [`Received::Attached`](super::Received::Attached) asks for: push the events that were missed, then finish it.
    pub fn replay(&self, edge: EdgeId) -> Option<Replay> {
        let attached = self.edges.get(edge)?;
        let after = attached.last.unwrap_or_default();
        Some(Replay::of(attached.topics().clone(), after))
    }

    /// The replay is over; these are the frames to send to the edge.
    pub fn finish_replay(&mut self, edge: EdgeId, replay: Replay) -> Vec<String> {
        let (frames, heard) = replay.frames();
        if let Some(attached) = self.edges.get_mut(edge) {
            attached.last = Some(heard);
        }
        frames
    }

    /// Whether the log still holds everything after `since`.
    pub(super) fn reaches(&self, since: &Mark) -> bool {
        since.epoch == self.mark.epoch
            && (self.floor..=self.mark.position).contains(&since.position)
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
