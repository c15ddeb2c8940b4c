use crate::{
    event::ServerEvent,
    position::Position,
    scope::{Label, Scope},
    sorted::{Map, Set},
};

use super::{interest::Interest, key::Key};

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
    pub(super) fn missed(&self, interest: &Interest, after: Position) -> Vec<Position> {
        let mut positions = Set::default();
        let mut take = |position: &Position| {
            if *position > after {
                positions.insert(*position);
            }
        };
        match interest {
            Interest::Everything => {
                let of_audiences = self.audiences.values().flat_map(Map::values);
                let all = self.keys.values().chain(of_audiences);
                all.chain(self.revocations.values()).for_each(take);
            }
            Interest::Filter(filter) => {
                for key in Key::of_filter(filter) {
                    self.keys.get(&key).map(&mut take);
                }
                self.missed_of(&filter.scope, interest, &mut take);
            }
        }
        positions.into_keys().collect()
    }

    fn missed_of(&self, scope: &Scope, interest: &Interest, take: &mut impl FnMut(&Position)) {
        let mut wanted = Set::default();
        for key in Key::all_of(interest) {
            wanted.insert(key);
        }
        for audience in &scope.audiences {
            let Some(events) = self.audiences.get(audience) else {
                continue;
            };
            for (key, position) in events.iter() {
                if wanted.contains(key) {
                    take(position);
                }
            }
        }
        if scope.revocations {
            self.revocations.values().for_each(&mut *take);
        }
        for principal in &scope.principals {
            self.revocations.get(principal).map(&mut *take);
        }
    }
}
