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
    super::{Level, Store, Subscription},
    pages::Reader,
};

/// The subscriptions of a deliverer, in memory and in their store.
#[derive(Debug)]
pub(super) struct Roster<S> {
    store: S,
    members: Map<Box<str>, Member>,
    names: Map<EventName, Named>,
}

/// A subscription in memory.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) row: Subscription,
    pub(super) expected: Expected,
    /// Whether it waits for its turn.
    pub(super) is_queued: bool,
    /// When the server was last asked to authorize it again.
    pub(super) asked_at: Option<Millis>,
    /// What is stored of its progress.
    disk: Disk,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Disk {
    cursor: Cursor,
    is_level: bool,
}

/// The event types that have subscriptions.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// The subscriptions that have not ended.
    pub(super) ids: Vec<Box<str>>,
    /// The end of the log as far as it is known.
    pub(super) head: Option<Cursor>,
    /// Whether the log may have more, whatever `head` says.
    pub(super) is_unread: bool,
    /// The log is not read before this, because that failed as often in a row.
    pub(super) not_before: Millis,
    pub(super) failures: u32,
    level: Option<Cursor>,
    /// Whether positions may have changed since they were stored.
    is_touched: bool,
}

impl<S: Store> Roster<S> {
    /// Reads the subscriptions of a store.
    pub(super) fn load(store: S, match_rules: &MatchRules) -> Result<Self, S::Error> {
        let (rows, levels) = (store.subscriptions()?, store.levels()?);
        let mut roster = Self {
            store,
            members: Map::new(),
            names: Map::new(),
        };
        for level in levels {
            if let Some(named) = roster.names.or_default(level.name.clone()) {
                named.level = Some(level.cursor());
            }
        }
        for (id, row) in rows {
            let expected = match_rules.expected(&row.name, &row.arguments);
            roster.add(&id, row, expected);
        }
        Ok(roster)
    }

    pub(super) fn store(&self) -> &S {
        &self.store
    }

    pub(super) fn into_store(self) -> S {
        self.store
    }

    pub(super) fn get(&self, id: &str) -> Option<&Member> {
        self.members.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Member> {
        let member = self.members.get_mut(id)?;
        if let Some(named) = self.names.get_mut(&member.row.name) {
            named.is_touched = true;
        }
        Some(member)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Member)> {
        self.members.iter().map(|(id, member)| (&**id, member))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = (&EventName, &Named)> {
        let names = self.names.iter();
        names.filter(|(_, named)| !named.ids.is_empty())
    }

    pub(super) fn named(&self, name: &EventName) -> Option<&Named> {
        self.names.get(name)
    }

    pub(super) fn named_mut(&mut self, name: &EventName) -> Option<&mut Named> {
        self.names.get_mut(name)
    }

    /// Has the log read again for every name.
    pub(super) fn read_again(&mut self) {
        for named in self.names.values_mut() {
            named.is_unread = true;
        }
    }

    /// Returns the ids of the subscriptions to a name.
    pub(super) fn ids(&self, name: &EventName) -> Vec<Box<str>> {
        self.named(name)
            .map_or_else(Vec::new, |named| named.ids.clone())
    }

    /// Returns the groups of all subscriptions to a name.
    pub(super) fn groups(&self, name: &EventName) -> Vec<Name> {
        let members = self.readers(name);
        let mut groups: Vec<Name> = members.flat_map(|one| one.groups).cloned().collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Returns the subscriptions to a name as readers of a page.
    pub(super) fn readers(&self, name: &EventName) -> impl Iterator<Item = Reader<'_>> + Clone {
        let ids = self.named(name).map_or(&[][..], |named| &named.ids);
        ids.iter().filter_map(|id| {
            let member = self.get(id)?;
            Some(member.reader(id))
        })
    }

    /// Adds a subscription. Returns whether it is the first one to its name.
    pub(super) fn add(&mut self, id: &str, mut row: Subscription, expected: Expected) -> bool {
        let disk = Disk {
            cursor: row.progress.read(),
            is_level: row.is_level,
        };
        let named = self.names.or_default(row.name.clone());
        let named = named.filter(|_| row.ending.is_none());
        let is_first = named.is_some_and(|named| {
            if let Some(level) = named.level_of(&disk) {
                row.progress.advance(level);
            }
            named.ids.push(id.into());
            named.ids.len() == 1
        });
        let member = Member {
            row,
            expected,
            is_queued: false,
            asked_at: None,
            disk,
        };
        self.members.insert(id.into(), member);
        is_first
    }

    /// Stores a subscription.
    pub(super) fn put(&mut self, id: &str) -> Result<(), S::Error> {
        match self.members.get_mut(id) {
            Some(member) => {
                let is_level = member.disk.is_level && member.row.progress.is_level();
                member.put(id, is_level, &mut self.store)
            }
            None => Ok(()),
        }
    }

    /// Removes a subscription from its name, because it has ended. Returns whether it was the last
    /// one to it.
    pub(super) fn detach(&mut self, id: &str, name: &EventName) -> Result<bool, S::Error> {
        let Some(named) = self.names.get_mut(name) else {
            return Ok(false);
        };
        let count = named.ids.len();
        named.ids.retain(|own| **own != *id);
        if !named.ids.is_empty() {
            return Ok(false);
        }
        let has_level = named.level.is_some();
        self.names.remove(name);
        if has_level {
            self.store.remove_level(name)?;
        }
        Ok(count > 0)
    }

    /// Removes a subscription.
    pub(super) fn remove(&mut self, id: &str) -> Result<Option<Member>, S::Error> {
        let member = self.members.remove(id);
        if member.is_some() {
            self.store.remove(id)?;
        }
        Ok(member)
    }

    /// Stores what has changed.
    pub(super) fn flush(&mut self) -> Result<(), S::Error> {
        let all: Vec<EventName> = self.names.keys().cloned().collect();
        for name in all {
            let named = self.names.get_mut(&name);
            if let Some(named) = named.filter(|named| named.is_touched) {
                named.is_touched = false;
                named.flush(&name, &mut self.members, &mut self.store)?;
            }
        }
        Ok(())
    }
}

impl Member {
    pub(super) fn reader<'m>(&'m self, id: &'m str) -> Reader<'m> {
        Reader {
            id,
            expected: &self.expected,
            groups: &self.row.groups,
        }
    }

    fn cursor(&self) -> Cursor {
        self.row.progress.read()
    }

    /// Stores it, unless that is known already once `level` is stored.
    fn flush<S: Store>(
        &mut self,
        id: &str,
        level: Option<&Cursor>,
        store: &mut S,
    ) -> Result<(), S::Error> {
        let (cursor, progress) = (self.cursor(), &self.row.progress);
        let is_past =
            |level: &Cursor| cursor.epoch == level.epoch && cursor.position >= level.position;
        let is_level = progress.is_level() && level.is_some_and(is_past);
        let is_stored = self.disk.is_level == is_level && self.disk.under(level) == cursor;
        if is_stored && !progress.is_dirty() {
            return Ok(());
        }
        self.put(id, is_level, store)
    }

    fn put<S: Store>(&mut self, id: &str, is_level: bool, store: &mut S) -> Result<(), S::Error> {
        self.row.is_level = is_level;
        store.put(id, &self.row)?;
        self.row.progress.stored();
        let cursor = self.cursor();
        self.disk = Disk { cursor, is_level };
        Ok(())
    }
}

impl Disk {
    /// Returns up to where a stored subscription was read, once `level` is stored.
    fn under(&self, level: Option<&Cursor>) -> Cursor {
        let level = level.filter(|level| self.is_level && level.epoch == self.cursor.epoch);
        let position = level.map_or(Position(0), |level| level.position);
        Cursor {
            epoch: self.cursor.epoch.clone(),
            position: self.cursor.position.max(position),
        }
    }
}

impl Named {
    /// Whether the log may have more after what a subscription has read.
    pub(super) fn has_more(&self, read: &Cursor) -> bool {
        let is_before = |head: &Cursor| head.epoch != read.epoch || read.position < head.position;
        self.is_unread || self.head.as_ref().is_some_and(is_before)
    }

    /// Notes the end of the log.
    pub(super) fn note_head(&mut self, head: Cursor) {
        let known = self.head.as_ref();
        let known = known.filter(|known| known.epoch == head.epoch);
        if known.is_none_or(|known| known.position < head.position) {
            self.head = Some(head);
        }
    }

    fn flush<S: Store>(
        &mut self,
        name: &EventName,
        members: &mut Map<Box<str>, Member>,
        store: &mut S,
    ) -> Result<(), S::Error> {
        let level = self.next_level(members);
        for id in &self.ids {
            if let Some(member) = members.get_mut(id) {
                member.flush(id, level.as_ref(), store)?;
            }
        }
        if let Some(cursor) = level.filter(|level| self.level.as_ref() != Some(level)) {
            store.put_level(&Level {
                name: name.clone(),
                epoch: cursor.epoch.clone(),
                position: cursor.position,
            })?;
            self.level = Some(cursor);
        }
        Ok(())
    }

    /// Returns the level with which the fewest subscriptions have to be stored by themselves: where
    /// most of those are that have nothing left to do.
    fn next_level(&self, members: &Map<Box<str>, Member>) -> Option<Cursor> {
        let known = self.head.as_ref().or(self.level.as_ref());
        let level = self.level.as_ref();
        let ids = self.ids.iter().filter_map(|id| members.get(id));
        let levels = ids.filter(|member| member.row.progress.is_level());
        let mut positions: Vec<Position> = levels
            .map(Member::cursor)
            .filter(|cursor| known.is_none_or(|known| known.epoch == cursor.epoch))
            .map(|cursor| cursor.position)
            .collect();
        positions.sort_unstable();
        let chunks = positions.chunk_by(|one, other| one == other);
        let most = chunks.max_by_key(|chunk| chunk.len());
        let Some((position, known)) = most.and_then(|most| most.first()).zip(known) else {
            return level.cloned();
        };
        let floor = level.filter(|level| level.epoch == known.epoch);
        let floor = floor.map_or(Position(0), |level| level.position);
        Some(Cursor {
            epoch: known.epoch.clone(),
            position: floor.max(*position),
        })
    }

    fn level_of(&self, disk: &Disk) -> Option<Position> {
        let level = self
            .level
            .as_ref()
            .filter(|level| level.epoch == disk.cursor.epoch)?;
        disk.is_level.then_some(level.position)
    }
}
