use alloc::{boxed::Box, vec::Vec};

use crate::{
    clock::Millis,
    events::{cursor, name::EventName, page::LogQuery},
    fanout::{Slab, StreamId},
    sorted::Set,
    vocabulary::scope::Name,
};

use super::{
    class::Classes,
    shared_position::SharedPosition,
    stream::{EventStream, EventStreamState},
};

/// The streams of one event type.
///
/// Most are current: they have everything up to where the log was read for all, and go on together.
/// Some are ahead: they began later, or have read by themselves. The next page for all is for both
/// of these. The others are behind, and read alone.
#[derive(Debug, Default)]
pub(super) struct TypeStreams {
    /// The number of streams.
    pub(super) size: usize,
    /// The streams that are current, by class.
    pub(super) classes: Classes,
    /// The streams that are ahead, or in another epoch.
    pub(super) ahead: Set<StreamId>,
    /// Up to where the log was read for all of them.
    pub(super) read_to: Option<SharedPosition>,
    /// Whether the log may have more.
    pub(super) is_due: bool,
    /// The readings of the log for all of them that are under way, oldest first.
    readings: Vec<Reading>,
}

/// A reading of the log for all streams of a type.
#[derive(Debug)]
struct Reading {
    number: u32,
    /// When the log was asked.
    at: Millis,
    /// The number of the newest class then: the page has no occurrences for groups that only newer
    /// classes have.
    newest_class: u32,
}

impl TypeStreams {
    /// Whether a stream of this type receives the next page that is read for all.
    pub(super) fn has(&self, stream: &EventStream) -> bool {
        match stream.state {
            EventStreamState::Current => true,
            EventStreamState::At(_) => self.ahead.contains(&stream.id),
            _ => false,
        }
    }

    /// Puts a stream where it has everything up to `place`.
    pub(super) fn put(&mut self, stream: &mut EventStream, place: SharedPosition) {
        if self.read_to.as_ref() == Some(&place) {
            stream.state = EventStreamState::Current;
            self.classes.add_current(&stream.class, stream.id);
            return;
        }
        if let Some(read_to) = &self.read_to {
            let is_of = place.is_of(&read_to.epoch);
            if !is_of || place.position > read_to.position {
                self.ahead.insert(stream.id);
            }
            // The others have lost what is theirs: the next page reports it.
            self.is_due |= !is_of;
        }
        stream.state = EventStreamState::At(place);
    }

    /// Removes a stream from those that receive the next page.
    pub(super) fn take(&mut self, stream: &EventStream) {
        match stream.state {
            EventStreamState::Current => {
                self.classes.remove_current(&stream.class, stream.id);
            }
            EventStreamState::At(_) => {
                self.ahead.remove(&stream.id);
            }
            _ => {}
        }
    }

    /// Returns up to where a stream has everything; `None` unless it has begun and not ended.
    pub(super) fn place_of<'s>(&'s self, stream: &'s EventStream) -> Option<&'s SharedPosition> {
        match &stream.state {
            EventStreamState::Current => self.read_to.as_ref(),
            EventStreamState::At(place) => Some(place),
            _ => None,
        }
    }

    /// Returns the earliest place of a stream that receives the next page that is read for all.
    pub(super) fn earliest<'s>(
        &'s self,
        streams: &'s Slab<EventStream>,
    ) -> Option<&'s SharedPosition> {
        if self.classes.has_current() {
            return self.read_to.as_ref();
        }
        let ahead = self.ahead.iter().filter_map(|id| streams.get(*id));
        ahead
            .filter_map(|stream| self.place_of(stream))
            .min_by_key(|place| place.position)
    }

    /// Begins at the end of the log, unless a place in its epoch was read to, or streams are
    /// current: what they have lost comes first.
    pub(super) fn settle(&mut self, end: SharedPosition) {
        let is_of = |read_to: &SharedPosition| read_to.is_of(&end.epoch);
        if self.read_to.as_ref().is_some_and(is_of) || self.classes.has_current() {
            return;
        }
        self.is_due |= !self.ahead.is_empty();
        self.read_to = Some(end);
    }

    /// Returns what to ask the log in reading `number`, which is under way from now on; `None` if
    /// nothing is due, if another reading is under way that is not late, or if every stream is
    /// behind.
    pub(super) fn begin_reading(
        &mut self,
        name: &EventName,
        streams: &Slab<EventStream>,
        (number, now): (u32, Millis),
    ) -> Option<LogQuery> {
        if let Some(latest) = self.readings.last() {
            let under_way = u64::try_from(self.readings.len()).unwrap_or(u64::MAX);
            if now < latest.at + Millis(LATE.0.saturating_mul(under_way)) {
                return None;
            }
            // Who reads may be gone.
            self.is_due = true;
        }
        if !self.is_due {
            return None;
        }
        let query = self.query(name, self.earliest(streams)?);
        self.is_due = false;
        if self.readings.len() >= MAX_READINGS {
            self.readings.remove(0);
        }
        self.readings.push(Reading {
            number,
            at: now,
            newest_class: self.classes.latest(),
        });
        Some(query)
    }

    /// Returns the place of a reading among those under way; `None` if it is over, or if a later
    /// one has its page.
    pub(super) fn reading(&self, number: u32) -> Option<usize> {
        let mut readings = self.readings.iter();
        readings.position(|reading| reading.number == number)
    }

    /// Removes a reading that has its page, and those before it. Returns the number of the newest
    /// class for which it was; `None` if it is not under way.
    pub(super) fn end_reading(&mut self, number: u32) -> Option<u32> {
        for _ in 0..self.reading(number)? {
            self.readings.remove(0);
        }
        Some(self.readings.remove(0).newest_class)
    }

    /// Removes a reading that has failed. It is due again, unless a later one is under way.
    pub(super) fn handle_failure(&mut self, number: u32) {
        if let Some(place) = self.reading(number) {
            self.readings.remove(place);
            self.is_due |= place == self.readings.len();
        }
    }

    /// Returns the query that reads the log for all streams.
    fn query(&self, name: &EventName, from: &SharedPosition) -> LogQuery {
        let classes = self.classes.iter();
        let mut groups: Vec<Name> = classes
            .flat_map(|(class, _)| class.groups.iter().cloned())
            .collect();
        groups.sort_unstable();
        groups.dedup();
        let cursor = Some(cursor::to_text(&from.cursor()).into_boxed_str());
        query(name, groups, (cursor, None))
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
        max_events: MAX_PAGE_EVENTS,
        max_bytes: MAX_PAGE_BYTES,
        max_scan: MAX_SCAN_BYTES,
    }
}

/// After this time without a page the log is read again, after twice this time if two readings are
/// under way, and so on: a slow log gets less to do.
const LATE: Millis = Millis(1_000);
/// Maximum number of readings of a type that are under way.
const MAX_READINGS: usize = 8;
/// Maximum number of occurrences of a page.
const MAX_PAGE_EVENTS: usize = 1_000;
/// Maximum bytes that a stream gets at once: with one page under way, a client that reads slowly
/// costs no more.
const MAX_PAGE_BYTES: usize = 262_144;
/// Maximum bytes of the log that are read for a page.
const MAX_SCAN_BYTES: usize = 1_048_576;
