use alloc::borrow::Borrow;

use super::map::Map;

/// Keys in order.
#[derive(Clone, Debug)]
pub(crate) struct Set<K>(Map<K, ()>);

impl<K: Ord> Set<K> {
    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the key is in it.
    pub(crate) fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(key)
    }

    /// Whether the key was not in it before.
    pub(crate) fn insert(&mut self, key: K) -> bool {
        self.0.insert(key, ()).is_none()
    }

    /// Whether the key was in it.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.remove(key).is_some()
    }

    /// The keys, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }

    /// The keys, in order.
    pub(crate) fn into_keys(self) -> impl Iterator<Item = K> {
        self.0.into_entries().map(|(key, ())| key)
    }
}

impl<K> Default for Set<K> {
    fn default() -> Self {
        Self(Map::default())
    }
}
