use alloc::borrow::Borrow;

use super::map::Map;

/// An ordered set.
#[derive(Clone, Debug)]
pub(crate) struct Set<K>(Map<K, ()>);

impl<K: Ord> Set<K> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(key)
    }

    /// Inserts the key. Returns whether it is new.
    pub(crate) fn insert(&mut self, key: K) -> bool {
        self.0.insert(key, ()).is_none()
    }

    /// Removes the key. Returns whether it was present.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.remove(key).is_some()
    }

    /// Returns the keys, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }

    /// Returns the keys, in order.
    pub(crate) fn into_keys(self) -> impl Iterator<Item = K> {
        self.0.into_entries().map(|(key, ())| key)
    }
}

impl<K> Default for Set<K> {
    fn default() -> Self {
        Self(Map::default())
    }
}
