use crate::{
    event::ServerEvent,
    position::Position,
    sorted::{Map, Set},
};

use super::{interest::Interest, key::Key};

/// Where the log last tells of each key. With it what an edge missed is looked up: that costs what the edge wants,
/// and not what was published meanwhile, however many edges come back at once.
#[derive(Debug, Default)]
pub(super) struct Recent(Map<Key, Position>);

impl Recent {
    /// The next event of the log.
    pub(super) fn push(&mut self, position: Position, event: &ServerEvent) {
        self.0.insert(Key::of(event), position);
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
            Interest::Everything => self.0.values().for_each(take),
            Interest::Filter(_) => {
                for key in Key::all_of(interest) {
                    self.0.get(&key).map(&mut take);
                }
            }
        }
        positions.into_keys().collect()
    }
}
