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

/// The latest events of the log, to find those that an edge has missed.
///
/// It is built from the whole log when events are first requested, and discarded when the log is
/// trimmed. Until it is built, it finds nothing.
#[derive(Debug, Default)]
pub(super) struct ReplayIndex {
    latest: Option<LatestByTopic>,
}

impl ReplayIndex {
    /// Whether the events of the log were indexed.
    pub(super) fn is_built(&self) -> bool {
        self.latest.is_some()
    }

    /// Adds the next event of the log while the index is being built from it.
    pub(super) fn build(&mut self, position: Position, event: &ServerEvent) {
        let latest = self.latest.get_or_insert_default();
        latest.push(position, event);
    }

    /// Adds a published event if the index is built.
    pub(super) fn handle_published(&mut self, position: Position, event: &ServerEvent) {
        if let Some(latest) = &mut self.latest {
            latest.push(position, event);
        }
    }

    /// Discards the index.
    pub(super) fn clear(&mut self) {
        self.latest = None;
    }

    /// Returns the positions of the latest wanted event of each topic after a position, in order.
    pub(super) fn missed(&self, wanted: &Topics, after: Position) -> Vec<Position> {
        let latest = self.latest.as_ref();
        latest.map_or_else(Vec::new, |latest| latest.missed(wanted, after))
    }
}

/// The position of the latest event of each topic in the log. A lookup of what an edge missed costs
/// in proportion to its topics, not to the number of events published since, however many edges
/// reconnect at once.
#[derive(Debug, Default)]
struct LatestByTopic {
    topics: Map<Topic, Position>,
    /// The topics of events for one group, by group.
    groups: Map<Name, Map<Topic, Position>>,
    disconnects: Map<Name, Position>,
}

impl LatestByTopic {
    /// Adds the next event of the log.
    fn push(&mut self, position: Position, event: &ServerEvent) {
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

    fn missed(&self, wanted: &Topics, after: Position) -> Vec<Position> {
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
