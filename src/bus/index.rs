use std::collections::BTreeSet;

use crate::{event::ServerEvent, filter::SubscriptionFilter, sorted::Map};

use super::{adjust::filter_of, interest::Interest, key::Key};

/// One edge of a bus, as the bus numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(pub u32);

/// From a key to the edges that want it. It changes by one key at a time: publishing costs what matches, and a
/// change costs what changes, however much is held.
#[derive(Debug, Default)]
pub struct Index {
    edges: Map<Key, Ids>,
    /// How many different principals are among the keys.
    principals: usize,
    names: usize,
    operations: u64,
}

/// Most names are wanted by one edge alone, which takes no allocation.
#[derive(Debug, Default)]
enum Ids {
    #[default]
    None,
    One(EdgeId),
    Many(BTreeSet<EdgeId>),
}

impl Index {
    /// Enters `edge` under `key`. Returns the key as the index has it: edges that keep that one share its text.
    pub fn insert(&mut self, edge: EdgeId, key: Key) -> Key {
        self.operations += 1;
        let shared = self.edges.key(&key).cloned().unwrap_or_else(|| {
            self.principals += usize::from(key.is_principal());
            self.names += key.followed_names();
            key
        });
        if let Some(ids) = self.edges.or_default(shared.clone()) {
            ids.insert(edge);
        }
        shared
    }

    /// Takes `edge` out under `key`.
    pub fn remove(&mut self, edge: EdgeId, key: &Key) {
        self.operations += 1;
        let Some(ids) = self.edges.get_mut(key) else {
            return;
        };
        ids.remove(edge);
        if matches!(ids, Ids::None) {
            self.edges.remove(key);
            self.principals -= usize::from(key.is_principal());
            self.names -= key.followed_names();
        }
    }

    /// The edges that want `event`, each once, in ascending order.
    pub fn matching(&self, event: &ServerEvent) -> Vec<EdgeId> {
        let mut edges: Vec<EdgeId> = self.under(&Key::entry_of(event)).collect();
        if let Some(audience) = Key::of_audience(event) {
            let of_audience = self.edges.get(&audience);
            edges.retain(|edge| of_audience.is_some_and(|ids| ids.contains(*edge)));
        }
        let ascending = edges.len();
        if let ServerEvent::Revoked { .. } = event {
            edges.extend(self.under(&Key::Revocations));
        }
        edges.extend(self.under(&Key::Everything));
        // Mostly no edge wants everything.
        if edges.len() > ascending {
            edges.sort_unstable();
            edges.dedup();
        }
        edges
    }

    /// Whether any edge wants what `key` names; of revocations, those of one principal suffice.
    pub fn contains(&self, key: &Key) -> bool {
        self.edges.contains_key(key) || (*key == Key::Revocations && self.principals > 0)
    }

    /// What all the edges want together; of revocations, all of them where any is wanted.
    pub fn interest(&self) -> Interest {
        if self.contains(&Key::Everything) {
            return Interest::Everything;
        }
        Interest::Filter(self.filter())
    }

    /// What the edges want together that do not want everything.
    pub fn filter(&self) -> SubscriptionFilter {
        let keys = self.edges.keys().filter(|key| !key.is_principal());
        let mut filter = filter_of(keys.cloned().collect());
        filter.scope.revocations = self.contains(&Key::Revocations);
        filter
    }

    /// Bytes that the names of all keys count which a bus has to follow for these edges, each name once.
    pub fn names(&self) -> usize {
        self.names
    }

    /// How many times a key was entered or taken out so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    fn under(&self, key: &Key) -> impl Iterator<Item = EdgeId> + '_ {
        self.edges.get(key).into_iter().flat_map(Ids::iter)
    }
}

impl Ids {
    fn insert(&mut self, edge: EdgeId) {
        match self {
            Self::None => *self = Self::One(edge),
            Self::One(known) if *known == edge => {}
            Self::One(known) => *self = Self::Many([*known, edge].into()),
            Self::Many(edges) => {
                edges.insert(edge);
            }
        }
    }

    fn remove(&mut self, edge: EdgeId) {
        match self {
            Self::One(known) if *known == edge => *self = Self::None,
            Self::Many(edges) => {
                edges.remove(&edge);
                if let (Some(first), true) = (edges.first(), edges.len() == 1) {
                    *self = Self::One(*first);
                }
            }
            Self::None | Self::One(_) => {}
        }
    }

    fn contains(&self, edge: EdgeId) -> bool {
        match self {
            Self::None => false,
            Self::One(known) => *known == edge,
            Self::Many(edges) => edges.contains(&edge),
        }
    }

    fn iter(&self) -> impl Iterator<Item = EdgeId> + '_ {
        let (one, many) = match self {
            Self::None => (None, None),
            Self::One(edge) => (Some(*edge), None),
            Self::Many(edges) => (None, Some(edges)),
        };
        one.into_iter().chain(many.into_iter().flatten().copied())
    }
}
