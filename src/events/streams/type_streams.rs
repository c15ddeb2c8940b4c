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
    /// Whether the log is being read for all of them.
    pub(super) is_asked: bool,
    /// Whether a query that is taken for failed may be answered yet.
    pub(super) is_overdue: bool,
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
        stream.state = EventStreamState::At(place.clone());
        let Some(read_to) = &self.read_to else {
            return;
        };
        if place == *read_to {
            stream.state = EventStreamState::Current;
            self.classes.add_current(stream);
        } else if place.reaches(read_to) {
            self.ahead.insert(stream.id);
        } else if !place.is_of(&read_to.epoch) {
            // The others have lost what is theirs: the next page tells them.
            self.ahead.insert(stream.id);
            self.is_due = true;
        }
    }

    /// Removes a stream from those that receive the next page.
    pub(super) fn take(&mut self, stream: &EventStream) {
        match stream.state {
            EventStreamState::Current => self.classes.remove_current(stream),
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
    /// current: they are told first what they have lost.
    pub(super) fn settle(&mut self, end: SharedPosition) {
        let is_of = |read_to: &SharedPosition| read_to.is_of(&end.epoch);
        if self.read_to.as_ref().is_some_and(is_of) || self.classes.has_current() {
            return;
        }
        self.is_due |= !self.ahead.is_empty();
        self.read_to = Some(end);
    }

    /// Returns the query that reads the log for all streams.
    pub(super) fn query(&self, name: &EventName, from: &SharedPosition) -> LogQuery {
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
