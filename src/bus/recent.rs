use crate::{
    event::ServerEvent,
    position::Position,
    scope::Label,
    sorted::{Map, Set},
};

use super::{key::Key, keys::Keys};

/// Where the log last tells of each key. With it what an edge missed is looked up: that costs what the edge wants,
/// and not what was published meanwhile, however many edges come back at once.
#[derive(Debug, Default)]
pub(super) struct Recent {
    keys: Map<Key, Position>,
    /// What is for one audience.
    audiences: Map<Label, Map<Key, Position>>,
    revocations: Map<Label, Position>,
}

impl Recent {
    /// The next event of the log.
    pub(super) fn push(&mut self, position: Position, event: &ServerEvent) {
        let key = Key::of(event);
        if let ServerEvent::Revoked { principal } = event {
            self.revocations.insert(principal.clone(), position);
        } else if let Some(audience) = event.audience() {
            if let Some(keys) = self.audiences.or_default(audience.clone()) {
                keys.insert(key, position);
            }
        } else {
            self.keys.insert(key, position);
        }
    }

    /// The last event of each key that is wanted, of those after a position, in their order.
    pub(super) fn missed(&self, wanted: &Keys, after: Position) -> Vec<Position> {
        let mut positions = Set::default();
        let mut take = |position: &Position| {
            if *position > after {
                positions.insert(*position);
            }
        };
        if wanted.contains(&Key::Everything) {
            let of_audiences = self.audiences.values().flat_map(Map::values);
            let all = self.keys.values().chain(of_audiences);
            all.chain(self.revocations.values()).for_each(take);
        } else {
            for key in wanted.iter() {
                self.missed_of(key, wanted, &mut take);
            }
        }
        positions.into_keys().collect()
    }

    fn missed_of(&self, key: &Key, wanted: &Keys, mut take: impl FnMut(&Position)) {
        match key {
            Key::Audience(audience) => {
                let events = self.audiences.get(audience).into_iter();
                let wanted = events
                    .flat_map(Map::iter)
                    .filter(|(key, _)| wanted.contains(key));
                wanted.for_each(|(_, position)| take(position));
            }
            Key::Revocations => self.revocations.values().for_each(take),
            Key::Principal(principal) => self.revocations.get(principal).into_iter().for_each(take),
            key => self.keys.get(key).into_iter().for_each(take),
        }
    }
}
