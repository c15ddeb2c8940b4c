use alloc::{boxed::Box, sync::Arc, vec::Vec};

use crate::{
    clock::Millis,
    events::{cursor, matching::Expected, name::EventName, page::LogQuery},
    sorted::{Map, Set},
    vocabulary::scope::Name,
};

use super::{place::Place, stream::Stream};

/// The streams of one event type.
#[derive(Debug, Default)]
pub(super) struct Topic {
    /// The slots of the streams.
    pub(super) slots: Set<u32>,
    pub(super) classes: Classes,
    /// Up to where the log was read for all of them.
    pub(super) read_to: Option<Place>,
    /// Whether the log may have more.
    pub(super) is_due: bool,
    /// Whether the log is being read for all of them.
    pub(super) is_asked: bool,
    /// Whether a query that is taken for failed may be answered yet.
    pub(super) is_overdue: bool,
}

/// The classes of the streams of one type.
#[derive(Debug, Default)]
pub(super) struct Classes {
    entries: Map<Arc<Class>, Entry>,
    /// The number of the newest class. Numbers are not reused, since match results name the
    /// class that they are for.
    latest: u32,
    /// The number of the newest class when the log was last asked: pages have no occurrences for
    /// groups that only newer classes have.
    latest_asked: u32,
}

/// What decides what a stream receives: streams of a class receive the same of every page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    pub(super) expected: Expected,
    /// In order, each once.
    pub(super) groups: Vec<Name>,
}

#[derive(Debug)]
struct Entry {
    number: u32,
    uses: usize,
}

impl Topic {
    /// Whether a stream at `place` receives the next page that is read for all.
    pub(super) fn is_current(&self, place: &Place) -> bool {
        let read_to = self.read_to.as_ref();
        read_to.is_some_and(|read_to| place.reaches(read_to))
    }

    /// Returns the earliest place of a stream that receives the next page that is read for all.
    pub(super) fn earliest<'s>(
        &self,
        streams: impl Iterator<Item = &'s Stream>,
    ) -> Option<&'s Place> {
        let read_to = self.read_to.as_ref()?;
        let mut earliest: Option<&Place> = None;
        for stream in streams {
            let Some(place) = stream.progress().map(|progress| &progress.place) else {
                continue;
            };
            if !place.reaches(read_to) {
                continue;
            }
            // Mostly that is the place of all, and none is earlier.
            if place.position == read_to.position {
                return Some(place);
            }
            if earliest.is_none_or(|earliest| place.position < earliest.position) {
                earliest = Some(place);
            }
        }
        earliest
    }

    /// Begins at the end of the log, unless a place in its epoch was read to.
    pub(super) fn settle(&mut self, end: Place) {
        if !self
            .read_to
            .as_ref()
            .is_some_and(|read_to| read_to.is_of(&end.epoch))
        {
            self.read_to = Some(end);
        }
    }

    /// Notes that the log was read to `place`, unless it was read further in the same epoch.
    pub(super) fn reach(&mut self, place: &Place) {
        if !self
            .read_to
            .as_ref()
            .is_some_and(|read_to| read_to.reaches(place))
        {
            self.read_to = Some(place.clone());
        }
    }

    /// Returns the query that reads the log for all streams.
    pub(super) fn query(&self, name: &EventName, from: &Place) -> LogQuery {
        let classes = self.classes.iter();
        let mut groups: Vec<Name> = classes
            .flat_map(|(_, class)| class.groups.iter().cloned())
            .collect();
        groups.sort_unstable();
        groups.dedup();
        let cursor = Some(cursor::to_text(&from.cursor()).into_boxed_str());
        query(name, groups, (cursor, None))
    }
}

impl Classes {
    /// Adds a stream to a class. Returns the shared class and its number.
    pub(super) fn intern(&mut self, class: Class) -> (Arc<Class>, u32) {
        let class = self.entries.key(&class).cloned().unwrap_or(Arc::new(class));
        if let Some(entry) = self.entries.get_mut(&*class) {
            entry.uses += 1;
            return (class, entry.number);
        }
        self.latest = self.latest.wrapping_add(1);
        let number = self.latest;
        self.entries
            .insert(class.clone(), Entry { number, uses: 1 });
        (class, number)
    }

    /// Removes a stream from a class.
    pub(super) fn release(&mut self, class: &Class) {
        let Some(entry) = self.entries.get_mut(class) else {
            return;
        };
        entry.uses -= 1;
        if entry.uses == 0 {
            self.entries.remove(class);
        }
    }

    /// Handles that the log is asked for all classes.
    pub(super) fn mark_asked(&mut self) {
        self.latest_asked = self.latest;
    }

    /// Returns the classes for which the log was asked, with their numbers.
    pub(super) fn asked(&self) -> impl Iterator<Item = (u32, &Class)> {
        self.iter()
            .filter(|(number, _)| *number <= self.latest_asked)
    }

    /// Returns the classes with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Class)> {
        self.entries
            .iter()
            .map(|(class, entry)| (entry.number, &**class))
    }
}

impl Class {
    pub(super) fn new(expected: Expected, mut groups: Vec<Name>) -> Self {
        groups.sort_unstable();
        groups.dedup();
        Self { expected, groups }
    }
}

/// Returns the query for a page after a cursor, without what is older than the age.
pub(super) fn query(
    name: &EventName,
    groups: Vec<Name>,
    (cursor, max_age_ms): (Option<Box<str>>, Option<Millis>),
) -> LogQuery {
    LogQuery {
        name: name.clone(),
        cursor,
        max_age_ms,
        groups,
        max_events: PAGE_EVENTS,
        max_bytes: PAGE_BYTES,
        max_scan: SCAN_BYTES,
    }
}

const PAGE_EVENTS: usize = 1_000;
/// Bytes that a stream gets at once: with one page under way, a client that reads slowly costs no
/// more.
const PAGE_BYTES: usize = 262_144;
const SCAN_BYTES: usize = 1_048_576;
