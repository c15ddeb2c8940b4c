use alloc::vec::Vec;

use crate::{
    sorted::{Map, Set},
    vocabulary::{
        event::ServerEvent,
        position::Position,
        scope::Name,
        topic::{Topic, Topics},
    },
};

use super::{Bus, registry::EdgeId};

/// The position of the latest event of each topic in the log. A lookup of what an edge missed costs
/// in proportion to its topics, not to the number of events published since, however many edges
/// reconnect at once.
#[derive(Debug, Default)]
pub(super) struct LatestByTopic {
    topics: Map<Topic, Position>,
    /// The topics of events for one group, by group.
    groups: Map<Name, Map<Topic, Position>>,
    disconnects: Map<Name, Position>,
}

impl LatestByTopic {
    /// Adds the next event of the log.
    pub(super) fn push(&mut self, position: Position, event: &ServerEvent) {
        let topic = Topic::of(event);
        if let ServerEvent::Disconnect { principal } = event {
            self.disconnects.insert(principal.clone(), position);
        } else if let Some(group) = event.group() {
            if let Some(topics) = self.groups.or_default(group.clone()) {
                topics.insert(topic, position);
            }
        } else {
            self.topics.insert(topic, position);
        }
    }

    /// Returns the positions of the latest wanted event of each topic after a position, in order.
    pub(super) fn missed(&self, wanted: &Topics, after: Position) -> Vec<Position> {
        let mut positions = Set::default();
        let mut take = |position: &Position| {
            if *position > after {
                positions.insert(*position);
            }
        };
        if wanted.contains(&Topic::Everything) {
            let of_groups = self.groups.values().flat_map(Map::values);
            let all = self.topics.values().chain(of_groups);
            all.chain(self.disconnects.values()).for_each(take);
        } else {
            for topic in wanted.iter() {
                self.missed_of(topic, wanted, &mut take);
            }
        }
        positions.into_keys().collect()
    }

    fn missed_of(&self, topic: &Topic, wanted: &Topics, mut take: impl FnMut(&Position)) {
        match topic {
            Topic::Group(group) => {
                let events = self.groups.get(group).into_iter();
                let wanted = events
                    .flat_map(Map::iter)
                    .filter(|(topic, _)| wanted.contains(topic));
                wanted.for_each(|(_, position)| take(position));
            }
            Topic::Disconnects => self.disconnects.values().for_each(take),
            Topic::Principal(principal) => {
                self.disconnects.get(principal).into_iter().for_each(take);
            }
            topic => self.topics.get(topic).into_iter().for_each(take),
        }
    }
}

/// The events of the log that an edge has missed.
impl Bus {
    /// Whether the events of the log were indexed; if not, pass all of them to [`Bus::index_event`]
    /// before [`Bus::missed`].
    pub fn is_log_indexed(&self) -> bool {
        self.latest.is_some()
    }

    /// Adds the next event of the log; every event has to be added in order.
    pub fn index_event(&mut self, position: Position, event: &ServerEvent) {
        let latest = self.latest.get_or_insert_default();
        latest.push(position, event);
    }

    /// Discards what was indexed, after a read of the log that failed: a part would count as the
    /// whole log.
    pub fn clear_index(&mut self) {
        self.latest = None;
    }

    /// Returns the positions after `after` of the events that an edge has to receive, in order.
    pub fn missed(&self, edge: EdgeId, after: Position) -> Vec<Position> {
        let latest = self.latest.as_ref().zip(self.edges.topics(edge));
        latest.map_or_else(Vec::new, |(latest, topics)| latest.missed(topics, after))
    }
}
