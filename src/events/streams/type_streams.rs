use alloc::{boxed::Box, vec::Vec};

use crate::{
    clock::Millis,
    events::{cursor, name::EventName, page::LogQuery},
    fanout::StreamId,
    sorted::Set,
    vocabulary::scope::Name,
};

use super::{class::Classes, shared_position::SharedPosition, stream::EventStream};

/// The streams of one event type.
#[derive(Debug, Default)]
pub(super) struct TypeStreams {
    /// In the order of their slots.
    pub(super) streams: Set<StreamId>,
    pub(super) classes: Classes,
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
    pub(super) fn has_current(&self, stream: &EventStream) -> bool {
        let (progress, read_to) = (stream.progress(), self.read_to.as_ref());
        progress
            .zip(read_to)
            .is_some_and(|(progress, read_to)| progress.place.reaches(read_to))
    }

    /// Returns the earliest place of a stream that receives the next page that is read for all.
    pub(super) fn earliest<'s>(
        &self,
        streams: impl Iterator<Item = &'s EventStream>,
    ) -> Option<&'s SharedPosition> {
        let read_to = self.read_to.as_ref()?;
        let mut earliest: Option<&SharedPosition> = None;
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
    pub(super) fn settle(&mut self, end: SharedPosition) {
        if !self
            .read_to
            .as_ref()
            .is_some_and(|read_to| read_to.is_of(&end.epoch))
        {
            self.read_to = Some(end);
        }
    }

    /// Notes that the log was read to `place`, unless it was read further in the same epoch.
    pub(super) fn reach(&mut self, place: &SharedPosition) {
        if !self
            .read_to
            .as_ref()
            .is_some_and(|read_to| read_to.reaches(place))
        {
            self.read_to = Some(place.clone());
        }
    }

    /// Returns the query that reads the log for all streams.
    pub(super) fn query(&self, name: &EventName, from: &SharedPosition) -> LogQuery {
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
