//! The subscriptions in memory, and their stored rows.

mod backoff;
mod event_type;

pub(super) use backoff::RetryBackoff;
pub(super) use event_type::SubscribedType;

use alloc::{boxed::Box, vec::Vec};

use crate::{
    clock::Millis,
    events::{
        matching::{Expected, MatchRules},
        name::EventName,
    },
    sorted::Map,
    vocabulary::{
        position::{Cursor, Position},
        scope::Name,
    },
};

use super::{
    super::{
        WebhookStore, WebhookSubscription,
        schedule::{UNSENT_RETRY, with_jitter},
    },
    in_flight::{Destination, InFlightMessage},
    pages::Reader,
};

/// The subscriptions of a deliverer, in memory and in their store.
#[derive(Debug)]
pub(super) struct WebhookSubscriptions<S> {
    store: S,
    entries: Map<Box<str>, SubscriptionEntry>,
    types: Map<EventName, SubscribedType>,
}

/// A subscription in memory.
#[derive(Debug)]
pub(super) struct SubscriptionEntry {
    pub(super) row: WebhookSubscription,
    pub(super) expected: Expected,
    /// When the server was last asked to authorize it again.
    pub(super) authorization_asked_at: Option<Millis>,
    /// When the server may be asked to match its occurrences, after matches that failed.
    pub(super) matches: RetryBackoff,
    /// When its messages may be sent, after one that the host could not send.
    pub(super) send_after: Millis,
    /// Whether the last message to the host of its endpoint took long.
    pub(super) is_slow: bool,
    /// The number of its turn, if it waits for one.
    pub(super) turn: Option<u64>,
    stored: Stored,
}

/// The stored progress of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    cursor: Cursor,
    is_caught_up: bool,
}

impl<S: WebhookStore> WebhookSubscriptions<S> {
    /// Reads the subscriptions of a store.
    pub(super) fn load(store: S, match_rules: &MatchRules) -> Result<Self, S::Error> {
        let (rows, watermarks) = (store.subscriptions()?, store.watermarks()?);
        let mut subscriptions = Self {
            store,
            entries: Map::new(),
            types: Map::new(),
        };
        for watermark in watermarks {
            let event_type = subscriptions.types.or_default(watermark.name.clone());
            if let Some(event_type) = event_type {
                event_type.watermark = Some(watermark.cursor());
            }
        }
        for (id, row) in rows {
            let expected = match_rules.expected(&row.name, &row.arguments);
            subscriptions.add(&id, row, expected);
        }
        subscriptions.spread_pace();
        Ok(subscriptions)
    }

    pub(super) fn get(&self, id: &str) -> Option<&SubscriptionEntry> {
        self.entries.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut SubscriptionEntry> {
        let entry = self.entries.get_mut(id)?;
        if let Some(event_type) = self.types.get_mut(&entry.row.name) {
            event_type.is_changed = true;
        }
        Some(entry)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &SubscriptionEntry)> {
        self.entries.iter().map(|(id, entry)| (&**id, entry))
    }

    /// Returns the names of the event types that have subscriptions.
    pub(super) fn names(&self) -> impl Iterator<Item = &EventName> {
        let types = self.types.iter();
        let subscribed = types.filter(|(_, event_type)| !event_type.ids.is_empty());
        subscribed.map(|(name, _)| name)
    }

    pub(super) fn event_type(&self, name: &EventName) -> Option<&SubscribedType> {
        self.types.get(name)
    }

    pub(super) fn event_type_mut(&mut self, name: &EventName) -> Option<&mut SubscribedType> {
        self.types.get_mut(name)
    }

    /// Has the log read again for every event type.
    pub(super) fn read_again(&mut self) {
        for event_type in self.types.values_mut() {
            event_type.is_unread = true;
        }
    }

    /// Returns the ids of the subscriptions to an event type.
    pub(super) fn ids(&self, name: &EventName) -> Vec<Box<str>> {
        self.event_type(name)
            .map_or_else(Vec::new, |event_type| event_type.ids.clone())
    }

    /// Returns the groups of all subscriptions to an event type.
    pub(super) fn groups(&self, name: &EventName) -> Vec<Name> {
        let readers = self.readers(name);
        let mut groups: Vec<Name> = readers.flat_map(|reader| reader.groups).cloned().collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Returns the subscriptions to an event type as readers of a page.
    pub(super) fn readers(&self, name: &EventName) -> impl Iterator<Item = Reader<'_>> + Clone {
        let event_type = self.event_type(name);
        let ids = event_type.map_or(&[][..], |event_type| &event_type.ids);
        ids.iter().filter_map(|id| {
            let entry = self.get(id)?;
            Some(entry.reader(id))
        })
    }

    /// Adds a subscription. Returns whether it is the first one to its event type.
    pub(super) fn add(
        &mut self,
        id: &str,
        mut row: WebhookSubscription,
        expected: Expected,
    ) -> bool {
        let stored = Stored {
            cursor: row.progress.read(),
            is_caught_up: row.is_caught_up,
        };
        let event_type = self.types.or_default(row.name.clone());
        let event_type = event_type.filter(|_| row.ending.is_none());
        let is_first = event_type.is_some_and(|event_type| {
            if let Some(watermark) = event_type.watermark_of(&stored) {
                row.progress.advance(watermark);
            }
            event_type.ids.push(id.into());
            event_type.ids.len() == 1
        });
        let entry = SubscriptionEntry {
            is_slow: row.progress.has_timed_out(),
            row,
            expected,
            authorization_asked_at: None,
            matches: RetryBackoff::default(),
            send_after: Millis(0),
            turn: None,
            stored,
        };
        self.entries.insert(id.into(), entry);
        is_first
    }

    /// Whether the last message to a host took long. Its subscriptions agree about that.
    pub(super) fn is_slow(&self, host: &str) -> bool {
        let mut entries = self.entries.values();
        entries.any(|entry| entry.is_slow && *entry.row.host == *host)
    }

    /// Notes whether a message took long: its host is slow then, for all its subscriptions. Returns
    /// whether that may be new.
    pub(super) fn note_pace(&mut self, message: &InFlightMessage, is_slow: bool) -> bool {
        let entry = self.get(&message.subscription);
        let is_new = entry.is_none_or(|entry| entry.is_slow != is_slow);
        if is_new {
            self.set_slow(&message.route.host, is_slow);
        }
        is_new
    }

    /// Makes all subscriptions of a host slow if one is.
    fn spread_pace(&mut self) {
        let slow = self.entries.values().filter(|entry| entry.is_slow);
        let mut hosts: Vec<Box<str>> = slow.map(|entry| entry.row.host.clone()).collect();
        hosts.sort_unstable();
        for entry in self.entries.values_mut() {
            entry.is_slow = hosts.binary_search(&entry.row.host).is_ok();
        }
    }

    pub(super) fn set_slow(&mut self, host: &str, is_slow: bool) {
        for entry in self.entries.values_mut() {
            if *entry.row.host == *host {
                entry.is_slow = is_slow;
            }
        }
    }

    /// Stores a subscription.
    pub(super) fn put(&mut self, id: &str) -> Result<(), S::Error> {
        match self.entries.get_mut(id) {
            Some(entry) => {
                let is_caught_up = entry.stored.is_caught_up && entry.row.progress.is_caught_up();
                entry.put(id, is_caught_up, &mut self.store)
            }
            None => Ok(()),
        }
    }

    /// Removes a subscription from its event type, because it has ended. Returns whether it was the
    /// last one to it.
    pub(super) fn detach(&mut self, id: &str, name: &EventName) -> Result<bool, S::Error> {
        let Some(event_type) = self.types.get_mut(name) else {
            return Ok(false);
        };
        let count = event_type.ids.len();
        event_type.ids.retain(|own| **own != *id);
        if !event_type.ids.is_empty() {
            return Ok(false);
        }
        let has_watermark = event_type.watermark.is_some();
        self.types.remove(name);
        if has_watermark {
            self.store.remove_watermark(name)?;
        }
        Ok(count > 0)
    }

    /// Removes a subscription.
    pub(super) fn remove(&mut self, id: &str) -> Result<Option<SubscriptionEntry>, S::Error> {
        let entry = self.entries.remove(id);
        if entry.is_some() {
            self.store.remove(id)?;
        }
        Ok(entry)
    }

    /// Stores what has changed.
    pub(super) fn flush(&mut self) -> Result<(), S::Error> {
        let names: Vec<EventName> = self.types.keys().cloned().collect();
        for name in names {
            let event_type = self.types.get_mut(&name);
            if let Some(event_type) = event_type.filter(|event_type| event_type.is_changed) {
                event_type.is_changed = false;
                event_type.flush(&name, &mut self.entries, &mut self.store)?;
            }
        }
        Ok(())
    }
}

impl SubscriptionEntry {
    /// Returns for whom its messages are sent, and where to.
    pub(super) fn route(&self) -> Destination {
        Destination {
            principal: self.row.principal.clone(),
            host: self.row.host.clone(),
            is_slow: self.is_slow,
        }
    }

    pub(super) fn reader<'e>(&'e self, id: &'e str) -> Reader<'e> {
        Reader {
            id,
            expected: &self.expected,
            groups: &self.row.groups,
        }
    }

    /// Handles that the host could not send a message.
    pub(super) fn handle_unsent(&mut self, now: Millis, random: f64) {
        self.send_after = now + with_jitter(UNSENT_RETRY, random);
    }

    /// Returns up to where the subscription has read the log.
    pub(super) fn cursor(&self) -> Cursor {
        self.row.progress.read()
    }

    /// Stores the subscription, unless its row already says the same once `watermark` is stored.
    pub(super) fn flush<S: WebhookStore>(
        &mut self,
        id: &str,
        watermark: Option<&Cursor>,
        store: &mut S,
    ) -> Result<(), S::Error> {
        let (cursor, progress) = (self.cursor(), &self.row.progress);
        let is_past = |watermark: &Cursor| {
            cursor.epoch == watermark.epoch && cursor.position >= watermark.position
        };
        let is_caught_up = progress.is_caught_up() && watermark.is_some_and(is_past);
        let is_stored =
            self.stored.is_caught_up == is_caught_up && self.stored.under(watermark) == cursor;
        if is_stored && !progress.is_dirty() {
            return Ok(());
        }
        self.put(id, is_caught_up, store)
    }

    fn put<S: WebhookStore>(
        &mut self,
        id: &str,
        is_caught_up: bool,
        store: &mut S,
    ) -> Result<(), S::Error> {
        self.row.is_caught_up = is_caught_up;
        store.put(id, &self.row)?;
        self.row.progress.stored();
        let cursor = self.cursor();
        self.stored = Stored {
            cursor,
            is_caught_up,
        };
        Ok(())
    }
}

impl Stored {
    /// Whether the shared watermark applies to the subscription.
    pub(super) fn shares(&self, watermark: &Cursor) -> bool {
        self.is_caught_up && watermark.epoch == self.cursor.epoch
    }

    /// Returns up to where a stored subscription has read, once `watermark` is stored.
    fn under(&self, watermark: Option<&Cursor>) -> Cursor {
        let watermark = watermark.filter(|watermark| self.shares(watermark));
        let position = watermark.map_or(Position(0), |watermark| watermark.position);
        Cursor {
            epoch: self.cursor.epoch.clone(),
            position: self.cursor.position.max(position),
        }
    }
}
