use alloc::borrow::Borrow;
use alloc::vec::Vec;

use super::order::{Order, OrderSlot};

/// A map with ordered keys.
#[derive(Clone, Debug)]
pub(crate) struct Map<K, V> {
    order: Order,
    entries: Vec<Option<(K, V)>>,
    /// The numbers of the vacant entries.
    free: Vec<u32>,
}

impl<K: Ord, V> Map<K, V> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let number = self.order.get(self.find(key).ok()?)?;
        self.entry(number).map(|(_, value)| value)
    }

    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let number = self.order.get(self.find(key).ok()?)?;
        self.value_mut(number)
    }

    /// Returns the stored key.
    pub(crate) fn key<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&K>
    where
        K: Borrow<Q>,
    {
        let number = self.order.get(self.find(key).ok()?)?;
        self.entry(number).map(|(key, _)| key)
    }

    /// Inserts the value. Returns the previous one.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(place) => {
                let number = self.order.get(place)?;
                let present = self.value_mut(number)?;
                Some(core::mem::replace(present, value))
            }
            Err(place) => {
                self.put(place, key, value);
                None
            }
        }
    }

    /// Returns the value of `key`, inserting a default if there is none.
    pub(crate) fn or_default(&mut self, key: K) -> Option<&mut V>
    where
        V: Default,
    {
        let number = match self.find(&key) {
            Ok(place) => self.order.get(place)?,
            Err(place) => self.put(place, key, V::default()),
        };
        self.value_mut(number)
    }

    /// Removes the key. Returns its value.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        let number = self.order.remove(place)?;
        self.free.push(number);
        let entry = self.entries.get_mut(number as usize)?;
        entry.take().map(|(_, value)| value)
    }

    /// Removes the entries for which `keep` returns false, in order.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        let (entries, free) = (&mut self.entries, &mut self.free);
        self.order.retain(&mut |number| {
            let Some(entry) = entries.get_mut(number as usize) else {
                return false;
            };
            let is_kept = entry.as_mut().is_some_and(|(key, value)| keep(key, value));
            if !is_kept {
                *entry = None;
                free.push(number);
            }
            is_kept
        });
    }

    /// Returns keys and values, in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.order
            .iter()
            .filter_map(|number| self.entry(number).map(|(key, value)| (key, value)))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// Returns the values, in any order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().flatten().map(|(_, value)| value)
    }

    /// Returns the values mutably, in any order.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().flatten().map(|(_, value)| value)
    }

    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<OrderSlot, OrderSlot>
    where
        K: Borrow<Q>,
    {
        self.order.find(&|number| {
            let present = self.entry(number).map(|(present, _)| present.borrow());
            present.cmp(&Some(key))
        })
    }

    fn put(&mut self, place: OrderSlot, key: K, value: V) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
        });
        if let Some(entry) = self.entries.get_mut(number as usize) {
            *entry = Some((key, value));
        }
        self.order.insert(place, number);
        number
    }

    fn entry(&self, number: u32) -> Option<&(K, V)> {
        self.entries.get(number as usize)?.as_ref()
    }

    fn value_mut(&mut self, number: u32) -> Option<&mut V> {
        let entry = self.entries.get_mut(number as usize)?;
        entry.as_mut().map(|(_, value)| value)
    }
}

impl<K, V> Map<K, V> {
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns keys and values, in order.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (K, V)> {
        let mut entries = self.entries;
        self.order
            .into_iter()
            .filter_map(move |number| entries.get_mut(number as usize)?.take())
    }
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self {
            order: Order::default(),
            entries: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}
