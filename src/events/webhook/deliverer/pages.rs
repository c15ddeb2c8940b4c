use alloc::{boxed::Box, collections::VecDeque, string::String, vec::Vec};

use crate::{
    clock::Millis,
    events::{
        cursor,
        matching::{Expected, MatchResult, Payloads, Selected, select},
        name::EventName,
        page::{LogQuery, Page},
    },
    sorted::Map,
    vocabulary::{
        position::{Cursor, Position},
        scope::Name,
    },
};

use super::in_flight::MAX_WAIT;

/// The pages of the log that are in memory or being read.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The newest last.
    cached: VecDeque<CachedPage>,
    reads: Map<u32, Read>,
    next: u32,
}

/// A page with what each subscription receives of it.
#[derive(Debug)]
struct CachedPage {
    name: EventName,
    page: Page,
    bytes: usize,
    selections: Selections,
}

/// What each subscription receives of a page.
#[derive(Debug, Default)]
struct Selections {
    of: Map<Box<str>, Vec<Selected>>,
    bytes: usize,
}

/// A query to the log, or a request to the server to match a page.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) name: EventName,
    /// The page begins after this.
    pub(super) after: Cursor,
    pub(super) purpose: Purpose,
    at: Millis,
}

/// What something is read for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// For all subscriptions to the event type.
    Type,
    /// For a call that makes a subscription.
    Call(u32),
    /// The match results of the server for the page that ends here, and one subscription.
    Match(Box<str>, Position),
}

/// A subscription that receives occurrences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'r> {
    pub(super) id: &'r str,
    pub(super) expected: &'r Expected,
    pub(super) groups: &'r [Name],
}

/// The known occurrences after a position.
#[derive(Debug)]
pub(super) enum Lookup<'p> {
    /// Nothing: the log has to be read.
    Missing,
    /// A page that the server has to match.
    Unmatched,
    /// The page, and what the subscription receives of it.
    Selected(&'p Page, &'p [Selected]),
}

impl Pages {
    /// Returns what a subscription receives right after a position.
    pub(super) fn find(
        &mut self,
        name: &EventName,
        after: &Cursor,
        reader: &Reader<'_>,
    ) -> Lookup<'_> {
        let mut cached = self.cached.iter_mut();
        let Some(cached) = cached.find(|cached| cached.covers(name, after)) else {
            return Lookup::Missing;
        };
        let is_known = cached.selections.of.contains_key(reader.id);
        let is_empty = cached.page.events.is_empty();
        if !is_known && !is_empty && reader.expected.for_host().is_some() {
            return Lookup::Unmatched;
        }
        if !is_known {
            cached.select(core::iter::once(*reader));
        }
        let selected = cached.selections.of.get(reader.id);
        Lookup::Selected(&cached.page, selected.map_or(&[], |selected| &selected[..]))
    }

    /// Keeps a page for these subscriptions.
    pub(super) fn keep<'r>(
        &mut self,
        name: EventName,
        page: Page,
        readers: impl Iterator<Item = Reader<'r>> + Clone,
    ) {
        let data = page.events.iter().map(|event| event.data.len() + OVERHEAD);
        let mut cached = CachedPage {
            name,
            bytes: data.sum(),
            page,
            selections: Selections::default(),
        };
        cached.select(readers.filter(|reader| reader.expected.for_host().is_none()));
        self.cached.push_back(cached);
        self.evict(None);
    }

    /// Removes the oldest pages beyond the limits. The newest one stays, and those that the server
    /// is matching or has just `matched`: otherwise they would be read and matched again and again.
    fn evict(&mut self, matched: Option<&Read>) {
        while self.cached.len() > MAX_PAGES || self.bytes() > MAX_BYTES {
            let older = self.cached.iter().rev().skip(1).rev();
            let reads = || self.reads.values().chain(matched);
            let is_matched = |page: &CachedPage| reads().any(|read| page.is_of(read));
            let mut places = older.enumerate().filter(|(_, page)| !is_matched(page));
            let Some((place, _)) = places.next() else {
                break;
            };
            self.cached.remove(place);
        }
    }

    fn bytes(&self) -> usize {
        let sizes = self.cached.iter();
        sizes
            .map(|cached| cached.bytes + cached.selections.bytes)
            .sum()
    }

    /// Forgets what a subscription receives.
    pub(super) fn forget_reader(&mut self, id: &str) {
        for cached in &mut self.cached {
            cached.selections.remove(id);
        }
    }

    /// Forgets the pages of an event type, which may lack occurrences of a group, also those that
    /// are being read or matched.
    pub(super) fn forget_name(&mut self, name: &str) {
        self.cached.retain(|cached| *cached.name != *name);
        self.reads.retain(|_, read| {
            let is_of_call = matches!(read.purpose, Purpose::Call(_));
            is_of_call || *read.name != *name
        });
    }

    /// Keeps the match results of the server for the page of a read, at the cost of older pages,
    /// then of what other subscriptions receive.
    pub(super) fn keep_results(
        &mut self,
        read: &Read,
        reader: &Reader<'_>,
        results: &[MatchResult],
    ) {
        let mut cached = self.cached.iter_mut();
        let Some(cached) = cached.find(|cached| cached.is_of(read)) else {
            return;
        };
        let payloads = Payloads::new(&cached.page, core::iter::empty());
        let receives = (reader.expected, reader.groups);
        let selected = select(&cached.page, &payloads, receives, results);
        cached.selections.insert(reader.id, selected);
        self.evict(Some(read));
        if self.bytes() > MAX_BYTES {
            for cached in &mut self.cached {
                let own = cached.selections.remove(reader.id);
                let own = own.filter(|_| cached.is_of(read));
                cached.selections = Selections::default();
                if let Some(own) = own {
                    cached.selections.insert(reader.id, own);
                }
            }
        }
    }

    /// Whether the occurrences of an event type after a position are being read.
    pub(super) fn is_reading(&self, name: &EventName, after: &Cursor) -> bool {
        let mut reads = self.reads.values();
        reads
            .any(|read| read.purpose == Purpose::Type && read.after == *after && read.name == *name)
    }

    /// Returns the subscriptions for which the server is matching a page.
    pub(super) fn matching(&self) -> impl Iterator<Item = &str> {
        self.reads.values().filter_map(|read| match &read.purpose {
            Purpose::Match(id, _) => Some(&**id),
            Purpose::Type | Purpose::Call(_) => None,
        })
    }

    /// Whether no more may be read now.
    pub(super) fn is_full(&self) -> bool {
        let reads = self.reads.values();
        reads.filter(|read| read.purpose == Purpose::Type).count() >= MAX_READS
    }

    /// Begins to read for all subscriptions to an event type.
    pub(super) fn read(
        &mut self,
        name: &EventName,
        after: &Cursor,
        groups: Vec<Name>,
        now: Millis,
    ) -> (u32, LogQuery) {
        let query = LogQuery {
            name: name.clone(),
            cursor: Some(cursor::to_text(after).into()),
            max_age_ms: None,
            groups,
            max_events: MAX_PAGE_EVENTS,
            max_bytes: MAX_PAGE_BYTES,
            max_scan: MAX_SCAN_BYTES,
        };
        (self.begin(name, after, Purpose::Type, now), query)
    }

    /// Begins to have the server match the page after a position for a subscription. Returns the
    /// page as JSON.
    pub(super) fn begin_match(
        &mut self,
        id: &str,
        name: &EventName,
        after: &Cursor,
        now: Millis,
    ) -> Option<(u32, String)> {
        let mut cached = self.cached.iter();
        let page = &cached.find(|cached| cached.covers(name, after))?.page;
        let (from, text) = (page.cursor_at(page.from), page.to_json());
        let purpose = Purpose::Match(id.into(), page.through);
        Some((self.begin(name, &from, purpose, now), text))
    }

    /// Records that something is being read. Returns its number.
    pub(super) fn begin(
        &mut self,
        name: &EventName,
        after: &Cursor,
        purpose: Purpose,
        now: Millis,
    ) -> u32 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        let read = Read {
            name: name.clone(),
            after: after.clone(),
            purpose,
            at: now,
        };
        self.reads.insert(number, read);
        number
    }

    /// Removes something that was read.
    pub(super) fn end(&mut self, number: u32) -> Option<Read> {
        self.reads.remove(&number)
    }

    /// Returns what was not read in time.
    pub(super) fn overdue(&self, now: Millis) -> Vec<u32> {
        let reads = self.reads.iter();
        let overdue = reads.filter(|(_, read)| read.at + MAX_WAIT <= now);
        overdue.map(|(number, _)| *number).collect()
    }

    /// Whether nothing is being read.
    pub(super) fn is_idle(&self) -> bool {
        self.reads.is_empty()
    }
}

impl CachedPage {
    fn covers(&self, name: &EventName, after: &Cursor) -> bool {
        let page = &self.page;
        let is_inside = page.from <= after.position && after.position < page.through;
        is_inside && page.epoch == after.epoch && self.name == *name
    }

    /// Whether the server has matched this page for a read. Others may begin at the same place.
    fn is_of(&self, read: &Read) -> bool {
        let page = &self.page;
        matches!(read.purpose, Purpose::Match(_, through) if through == page.through)
            && page.cursor_at(page.from) == read.after
            && self.name == read.name
    }

    fn select<'r>(&mut self, readers: impl Iterator<Item = Reader<'r>> + Clone) {
        let payloads = Payloads::new(&self.page, readers.clone().map(|reader| reader.expected));
        for reader in readers {
            let receives = (reader.expected, reader.groups);
            let selected = select(&self.page, &payloads, receives, &[]);
            self.selections.insert(reader.id, selected);
        }
    }
}

impl Selections {
    fn insert(&mut self, id: &str, selected: Vec<Selected>) {
        self.remove(id);
        self.bytes += bytes_of(&selected);
        self.of.insert(id.into(), selected);
    }

    fn remove(&mut self, id: &str) -> Option<Vec<Selected>> {
        let selected = self.of.remove(id)?;
        self.bytes -= bytes_of(&selected);
        Some(selected)
    }
}

fn bytes_of(selected: &[Selected]) -> usize {
    let payloads = selected.iter().map(|selected| match selected {
        Selected::Transformed(_, data) => data.len(),
        Selected::Event(_) | Selected::Failed(_) => 0,
    });
    payloads.sum::<usize>() + size_of_val(selected)
}

/// Maximum number of cached pages.
const MAX_PAGES: usize = 16;
/// Maximum bytes of cached pages, with what the subscriptions receive of them. Only the pages that
/// have to stay may exceed it.
const MAX_BYTES: usize = 4 << 20;
/// Maximum number of queries to the log at a time.
const MAX_READS: usize = 4;
/// Maximum number of pages that the server matches at a time. With those that are being read they
/// fit into memory.
pub(super) const MAX_MATCHES: usize = 8;
/// Maximum number of occurrences of a page.
const MAX_PAGE_EVENTS: usize = 100;
/// Maximum bytes of the occurrences of a page.
const MAX_PAGE_BYTES: usize = 262_144;
/// Maximum bytes of the log that are read for a page.
const MAX_SCAN_BYTES: usize = 4 << 20;
/// Bytes of an occurrence beside its payload.
const OVERHEAD: usize = 512;
