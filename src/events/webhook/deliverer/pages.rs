use alloc::{boxed::Box, collections::VecDeque, vec::Vec};

use crate::{
    clock::Millis,
    events::{
        cursor,
        matching::{Expected, MatchResult, Payloads, Selected, select},
        name::EventName,
        page::{LogQuery, Page},
    },
    sorted::Map,
    vocabulary::{position::Cursor, scope::Name},
};

use super::flights::GUARD;

/// The pages of the log that are in memory or being read.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The newest last.
    kept: VecDeque<Kept>,
    bytes: usize,
    reads: Map<u32, Read>,
    next: u32,
}

/// A page with what each subscription receives of it.
#[derive(Debug)]
struct Kept {
    name: EventName,
    page: Page,
    bytes: usize,
    picks: Map<Box<str>, Vec<Selected>>,
}

/// A query to the log, or to the functions of the server about a page.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) name: EventName,
    /// The page begins after this.
    pub(super) after: Cursor,
    pub(super) of: Of,
    at: Millis,
}

/// For whom something is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// For all subscriptions to the name.
    Name,
    /// For a call that makes a subscription.
    Call(u32),
    /// The decision of the server about a page, for one subscription.
    Judgement(Box<str>),
}

/// A subscription that receives occurrences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'r> {
    pub(super) id: &'r str,
    pub(super) expected: &'r Expected,
    pub(super) groups: &'r [Name],
}

/// What is known of the occurrences after a position.
#[derive(Debug)]
pub(super) enum Found<'p> {
    /// Nothing: they have to be read.
    Nothing,
    /// These, but the server has to decide which the subscription receives.
    Unjudged(&'p Page),
    /// These.
    Picks(&'p Page, &'p [Selected]),
}

impl Pages {
    /// Returns what a subscription receives right after a position.
    pub(super) fn find(
        &mut self,
        name: &EventName,
        after: &Cursor,
        reader: &Reader<'_>,
    ) -> Found<'_> {
        let Some(kept) = self.kept.iter_mut().find(|kept| kept.covers(name, after)) else {
            return Found::Nothing;
        };
        let is_known = kept.picks.contains_key(reader.id);
        if !is_known && reader.expected.for_host().is_some() {
            return Found::Unjudged(&kept.page);
        }
        if !is_known {
            kept.pick(core::iter::once(*reader));
        }
        let picks = kept.picks.get(reader.id);
        Found::Picks(&kept.page, picks.map_or(&[], |picks| &picks[..]))
    }

    /// Keeps a page for these subscriptions.
    pub(super) fn keep<'r>(
        &mut self,
        name: EventName,
        page: Page,
        readers: impl Iterator<Item = Reader<'r>> + Clone,
    ) {
        let data = page.events.iter().map(|event| event.data.len() + WRAPPING);
        let mut kept = Kept {
            name,
            bytes: data.sum(),
            page,
            picks: Map::new(),
        };
        kept.pick(readers.filter(|reader| reader.expected.for_host().is_none()));
        self.bytes += kept.bytes;
        self.kept.push_back(kept);
        while self.kept.len() > MAX_PAGES || (self.bytes > MAX_BYTES && self.kept.len() > 1) {
            self.bytes -= self.kept.pop_front().map_or(0, |kept| kept.bytes);
        }
    }

    /// Forgets what was decided for a subscription.
    pub(super) fn forget_reader(&mut self, id: &str) {
        for kept in &mut self.kept {
            kept.picks.remove(id);
        }
    }

    /// Forgets the pages of a name, which may lack occurrences of a group.
    pub(super) fn forget_name(&mut self, name: &str) {
        self.kept.retain(|kept| *kept.name != *name);
        self.bytes = self.kept.iter().map(|kept| kept.bytes).sum();
    }

    /// Records what the server has decided about the page after a position.
    pub(super) fn judge(&mut self, read: &Read, reader: &Reader<'_>, results: &[MatchResult]) {
        let mut kept = self.kept.iter_mut();
        if let Some(kept) = kept.find(|kept| kept.is_at(&read.name, &read.after)) {
            let payloads = Payloads::new(&kept.page, core::iter::empty());
            let reads = (reader.expected, reader.groups);
            let picks = select(&kept.page, &payloads, reads, results);
            kept.picks.insert(reader.id.into(), picks);
        }
    }

    /// Whether the occurrences of a name after a position are being read.
    pub(super) fn is_reading(&self, name: &EventName, after: &Cursor) -> bool {
        let mut reads = self.reads.values();
        reads.any(|read| read.of == Of::Name && read.after == *after && read.name == *name)
    }

    /// Whether no more may be read now.
    pub(super) fn is_full(&self) -> bool {
        let reads = self.reads.values();
        reads.filter(|read| read.of == Of::Name).count() >= MAX_READS
    }

    /// Begins to read for a name.
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
            max_events: PAGE_EVENTS,
            max_bytes: PAGE_BYTES,
            max_scan: PAGE_SCAN,
        };
        (self.begin(name, after, Of::Name, now), query)
    }

    /// Begins to ask the server about a page, unless that is under way.
    pub(super) fn ask(
        &mut self,
        id: &str,
        name: &EventName,
        at: &Cursor,
        now: Millis,
    ) -> Option<u32> {
        let of = Of::Judgement(id.into());
        let is_asked = self.reads.values().any(|read| read.of == of);
        (!is_asked).then(|| self.begin(name, at, of, now))
    }

    /// Records that something is being read. Returns its number.
    pub(super) fn begin(&mut self, name: &EventName, after: &Cursor, of: Of, now: Millis) -> u32 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        let read = Read {
            name: name.clone(),
            after: after.clone(),
            of,
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
        let overdue = reads.filter(|(_, read)| read.at + GUARD <= now);
        overdue.map(|(number, _)| *number).collect()
    }

    /// Whether nothing is being read.
    pub(super) fn is_idle(&self) -> bool {
        self.reads.is_empty()
    }
}

impl Kept {
    fn covers(&self, name: &EventName, after: &Cursor) -> bool {
        let page = &self.page;
        let is_inside = page.from <= after.position && after.position < page.through;
        is_inside && page.epoch == after.epoch && self.name == *name
    }

    fn is_at(&self, name: &EventName, at: &Cursor) -> bool {
        self.page.from == at.position && self.page.epoch == at.epoch && self.name == *name
    }

    fn pick<'r>(&mut self, readers: impl Iterator<Item = Reader<'r>> + Clone) {
        let payloads = Payloads::new(&self.page, readers.clone().map(|reader| reader.expected));
        for reader in readers {
            let reads = (reader.expected, reader.groups);
            let picks = select(&self.page, &payloads, reads, &[]);
            self.picks.insert(reader.id.into(), picks);
        }
    }
}

/// Maximum number of pages in memory, and of their bytes.
const MAX_PAGES: usize = 16;
const MAX_BYTES: usize = 4 << 20;
/// Maximum number of questions to the log at a time.
const MAX_READS: usize = 4;
/// Maximum occurrences and bytes of a page, and bytes that the log reads for it.
const PAGE_EVENTS: usize = 100;
const PAGE_BYTES: usize = 262_144;
const PAGE_SCAN: usize = 4 << 20;
/// Bytes of an occurrence beside its payload.
const WRAPPING: usize = 512;
