use crate::{event::ServerEvent, filter::SubscriptionFilter, sorted::Set, uri::Uri};

use super::{
    adjust::{Adjust, filter_of},
    interest::Interest,
    key::Key,
};

/// What one holder wants, as the keys that it is entered under in an [`Index`](super::Index): to change one of them
/// costs the same however many there are.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    keys: Set<Key>,
    bytes: usize,
}

impl Keys {
    /// The keys of an interest.
    pub fn of(interest: &Interest) -> Self {
        let mut keys = Self::default();
        for key in Key::entries(interest) {
            keys.insert(key);
        }
        keys
    }

    /// Puts a key in. Returns whether it was not there before.
    pub fn insert(&mut self, key: Key) -> bool {
        let bytes = key.names();
        let is_new = self.keys.insert(key);
        self.bytes += if is_new { bytes } else { 0 };
        is_new
    }

    /// Takes a key out. Returns whether it was there.
    pub fn remove(&mut self, key: &Key) -> bool {
        let was_there = self.keys.remove(key);
        self.bytes -= if was_there { key.names() } else { 0 };
        was_there
    }

    /// Adds and drops what `adjust` says; everything stays everything.
    pub fn change(&mut self, adjust: &Adjust) {
        if self.contains(&Key::Everything) {
            return;
        }
        for key in adjust.dropped(self) {
            self.remove(&key);
        }
        for key in Key::entries_of(&adjust.add) {
            self.insert(key);
        }
    }

    /// Whether a key is in it.
    pub fn contains(&self, key: &Key) -> bool {
        self.keys.contains(key)
    }

    /// The keys, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter()
    }

    /// Bytes that the names of its keys count.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether what it names takes `event` in.
    pub fn accepts(&self, event: &ServerEvent) -> bool {
        if self.contains(&Key::Everything) {
            return true;
        }
        let is_for = |key: Key| self.contains(&key);
        match event {
            ServerEvent::Revoked { .. } => is_for(Key::Revocations) || is_for(Key::entry_of(event)),
            event => is_for(Key::entry_of(event)) && Key::of_audience(event).is_none_or(is_for),
        }
    }

    /// The same as an interest, its names in order.
    pub fn interest(&self) -> Interest {
        if self.contains(&Key::Everything) {
            return Interest::Everything;
        }
        Interest::Filter(filter_of(self.iter().cloned().collect()))
    }

    /// The same as an interest with `uris` in place of those that it names; everything stays everything.
    pub fn with_uris(&self, uris: &[Uri]) -> Interest {
        if self.contains(&Key::Everything) {
            return Interest::Everything;
        }
        let others = self.iter().filter(|key| !key.is_resource());
        Interest::Filter(SubscriptionFilter {
            resource_subscriptions: uris.to_vec(),
            ..filter_of(others.cloned().collect())
        })
    }
}
