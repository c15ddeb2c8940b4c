//! Streams of events (`events/stream`): pages of the log in, the bytes for every stream out
//! (SEP-3415, Push-Based Delivery).

mod class;
mod frames;
mod message;
mod shared_position;
mod spread;
mod stream;
mod type_streams;

pub(crate) use message::{cursor_json, error_response, occurrence};
pub use stream::Opening;

use alloc::{sync::Arc, vec::Vec};

use crate::{
    clock::Millis,
    fanout::{Interner, Slab, StreamId, WriteBatch},
    sorted::Map,
    vocabulary::{id::RequestId, scope::Name},
};

use super::{
    error::EventError,
    matching::MatchResult,
    name::EventName,
    page::{LogQuery, Page},
};

use class::Class;
use shared_position::{Reach, SharedPosition};
use spread::Spread;
use stream::{EventStream, EventStreamState};
use type_streams::TypeStreams;

/// All event streams of one process or isolate on one bus.
///
/// A stream has nothing but a position. The log is read once for all streams of a type that have
/// everything up to the same place: [`EventStreams::query`], [`EventStreams::handle_page`]. A
/// stream without room reads its pages later, on its own: [`EventStreams::query_of`],
/// [`EventStreams::handle_own_page`]. No backlog is buffered.
///
/// The driver writes what it gets at once, and reports the streams that had no room. It reports
/// each cue for a type with [`EventStreams::handle_cue`]. A page whose epoch is empty comes from a
/// bus without a log: all cursors are null, and positions only have to ascend.
#[derive(Debug, Default)]
pub struct EventStreams {
    streams: Slab<EventStream>,
    types: Map<EventName, TypeStreams>,
    ids: Interner<RequestId>,
    /// The latest epoch, which streams share.
    epoch: Option<Arc<str>>,
    spread: Option<Spread>,
    /// The streams that the last page has left behind.
    left: Vec<StreamId>,
    /// The number of readings for all streams of a type so far.
    readings: u32,
}

/// A reading of the log for all streams of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventReading {
    /// The number of the reading, which its page names.
    pub number: u32,
    /// What to ask the log.
    pub query: LogQuery,
}

impl EventStreams {
    /// Adds a stream, which gets nothing before [`EventStreams::begin`].
    pub fn open(&mut self, opening: Opening) -> StreamId {
        let Opening {
            id: request,
            name,
            expected,
            groups,
            cursor,
            max_age,
            codes,
        } = opening;
        let id_number = self.ids.intern(&request);
        let request = self.ids.interned(&request).clone();
        // The streams of a type share its name.
        let name = self.types.key(&name).cloned().unwrap_or(name);
        let mut type_streams = self.types.remove(&name).unwrap_or_default();
        let (class, kind) = type_streams.classes.intern(Class::new(expected, groups));
        let id = self.streams.insert(|id| EventStream {
            id,
            request,
            id_number,
            name: name.clone(),
            class,
            kind,
            codes,
            state: EventStreamState::Opening { cursor, max_age },
        });
        type_streams.size += 1;
        self.types.insert(name, type_streams);
        id
    }

    /// Returns what to ask the log for one stream: where it begins, or what it has missed. `None`
    /// if it gets the next page that is read for all.
    pub fn query_of(&self, id: StreamId) -> Option<LogQuery> {
        let stream = self.streams.get(id)?;
        let from = match &stream.state {
            EventStreamState::Opening { cursor, max_age } => (cursor.clone(), *max_age),
            EventStreamState::At(place) if !self.types.get(&stream.name)?.has(stream) => {
                let cursor = super::cursor::to_text(&place.cursor());
                (Some(cursor.into_boxed_str()), None)
            }
            _ => return None,
        };
        let groups = stream.class.groups.clone();
        Some(type_streams::query(&stream.name, groups, from))
    }

    /// Begins a stream with the page for its query. Returns its first bytes: where it
    /// begins, and the occurrences of the page. `results` are those of the server, if it decides:
    /// see [`EventStreams::arguments_of`]. `None` if it has begun before.
    pub fn begin(&mut self, id: StreamId, page: &Page, results: &[MatchResult]) -> Option<Vec<u8>> {
        let epoch = self.shared(&page.epoch);
        let stream = self.streams.get_mut(id)?;
        let bytes = stream.begin(page, results)?;
        let type_streams = self.types.get_mut(&stream.name)?;
        type_streams.settle(SharedPosition::new(epoch.clone(), page.head));
        type_streams.put(stream, SharedPosition::new(epoch, page.through));
        Some(bytes)
    }

    /// Handles a page for one stream that is behind. Returns its bytes; `None` if there are none.
    pub fn handle_own_page(
        &mut self,
        id: StreamId,
        page: &Page,
        results: &[MatchResult],
    ) -> Option<Vec<u8>> {
        let epoch = self.shared(&page.epoch);
        let stream = self.streams.get_mut(id)?;
        let type_streams = self.types.get_mut(&stream.name)?;
        let former = type_streams.place_of(stream)?.clone();
        let bytes = stream.read(&former, page, results);
        // A page without anything new says that the stream is at the end of the log.
        let place = match (&bytes, former.reach(page)) {
            (Some(_), _) => SharedPosition::new(epoch.clone(), page.through),
            (None, Reach::After) => former,
            (None, _) => return None,
        };
        type_streams.take(stream);
        type_streams.settle(SharedPosition::new(epoch, page.head));
        type_streams.put(stream, place);
        bytes.filter(|bytes| !bytes.is_empty())
    }

    /// Handles a cue: the log may have something new of this type.
    pub fn handle_cue(&mut self, name: &EventName) {
        if let Some(type_streams) = self.types.get_mut(name) {
            type_streams.is_due = true;
        }
    }

    /// Returns the next reading of the log for all streams of a type; `None` if nothing is due, if
    /// every stream is behind, or if a reading is under way that is not late: one second for the
    /// first, two while two are under way, and so on.
    pub fn query(&mut self, name: &EventName, now: Millis) -> Option<EventReading> {
        let number = self.readings.wrapping_add(1);
        let type_streams = self.types.get_mut(name)?;
        let query = type_streams.begin_reading(name, &self.streams, (number, now))?;
        self.readings = number;
        Some(EventReading { number, query })
    }

    /// Handles the page of a reading, unless the page of a later one has come. `results` are the
    /// match results of the server by class, if it decides: see [`EventStreams::classes`]. Poll
    /// [`EventStreams::poll_batch`] afterwards.
    pub fn handle_page(
        &mut self,
        (name, number): (&EventName, u32),
        page: Page,
        results: &[(u32, Vec<MatchResult>)],
    ) {
        let epoch = self.shared(&page.epoch);
        let Some(type_streams) = self.types.get_mut(name) else {
            return;
        };
        let Some(newest_class) = type_streams.end_reading(number) else {
            return;
        };
        type_streams.is_due |= page.more;
        self.spread = Some(Spread::new(
            (name, type_streams),
            &mut self.streams,
            (page, epoch),
            newest_class,
            results,
        ));
    }

    /// Handles that a reading has failed: another one is due, unless it is under way.
    pub fn handle_failure(&mut self, name: &EventName, number: u32) {
        if let Some(type_streams) = self.types.get_mut(name) {
            type_streams.handle_failure(number);
        }
    }

    /// Returns what to write because of the last page, a part of the streams at a time; `None` if
    /// that is all: see [`EventStreams::take_left`] then. Report the streams without room with
    /// [`EventStreams::handle_missed`] before any other call.
    pub fn poll_batch(&mut self) -> Option<WriteBatch> {
        let batch = self.spread.as_mut()?.batch(&self.streams);
        if batch.is_none() {
            self.left = self.spread.take().map(Spread::into_left)?;
        }
        batch
    }

    /// Handles streams that had no room for what the last batch has for them: they are behind.
    pub fn handle_missed(&mut self, streams: impl IntoIterator<Item = StreamId>) {
        let Some(spread) = &self.spread else {
            return;
        };
        let Some(type_streams) = self.types.get_mut(&spread.name) else {
            return;
        };
        for id in streams {
            let stream = self.streams.get_mut(id).filter(|stream| stream.is_active());
            if let Some((stream, former)) = stream.zip(spread.former(id)) {
                type_streams.take(stream);
                stream.state = EventStreamState::At(former.clone());
            }
        }
    }

    /// Returns the streams that the last page has left behind, each once: there were no match
    /// results for them, or their groups are newer than the query. Each reads its pages alone.
    pub fn take_left(&mut self) -> Vec<StreamId> {
        core::mem::take(&mut self.left)
    }

    /// Handles the groups of a stream's caller. Returns whether they have changed.
    pub fn handle_groups(&mut self, id: StreamId, groups: Vec<Name>) -> bool {
        let Some(stream) = self.streams.get_mut(id) else {
            return false;
        };
        let Some(type_streams) = self.types.get_mut(&stream.name) else {
            return false;
        };
        let class = Class::new(stream.class.expected.clone(), groups);
        if class == *stream.class {
            return false;
        }
        let is_current = matches!(stream.state, EventStreamState::Current);
        if is_current {
            type_streams.classes.remove_current(&stream.class, id);
        }
        type_streams.classes.release(&stream.class);
        (stream.class, stream.kind) = type_streams.classes.intern(class);
        if is_current {
            type_streams.classes.add_current(&stream.class, id);
        }
        true
    }

    /// Returns the classes of a type for which a function of the server decides, with their
    /// arguments as JSON objects: [`EventStreams::handle_page`] takes match results for each. If
    /// no stream is ahead, a class whose streams are all behind is left out. `None` if the page of
    /// a later reading has come.
    pub fn classes(&self, name: &EventName, number: u32) -> Option<Vec<(u32, &str)>> {
        let type_streams = self.types.get(name)?;
        type_streams.reading(number)?;
        // Which classes the few streams that are ahead have is not worth a search.
        let has_ahead = !type_streams.ahead.is_empty();
        let classes = type_streams.classes.iter();
        let classes = classes.filter(|(_, streams)| has_ahead || !streams.current.is_empty());
        let matched = classes
            .filter_map(|(class, streams)| Some((streams.number, class.expected.for_host()?)));
        Some(matched.collect())
    }

    /// Returns the arguments of a stream, a JSON object, if a function of the server decides.
    pub fn arguments_of(&self, id: StreamId) -> Option<&str> {
        self.streams.get(id)?.class.expected.for_host()
    }

    /// Returns a heartbeat with the position of a stream; `None` unless it has begun and not ended.
    pub fn heartbeat(&self, id: StreamId) -> Option<Vec<u8>> {
        let stream = self.streams.get(id)?;
        let place = self.types.get(&stream.name)?.place_of(stream)?;
        Some(stream.heartbeat(place))
    }

    /// Ends a stream whose subscription has ended. Returns its last bytes: the error and the
    /// result. `None` unless it has begun and not ended.
    pub fn terminate(&mut self, id: StreamId, error: &EventError) -> Option<Vec<u8>> {
        let stream = self
            .streams
            .get_mut(id)
            .filter(|stream| stream.is_active())?;
        self.types.get_mut(&stream.name)?.take(stream);
        stream.state = EventStreamState::Ended;
        Some(stream.terminated(error))
    }

    /// Removes a stream.
    pub fn remove(&mut self, id: StreamId) {
        let Some(stream) = self.streams.remove(id) else {
            return;
        };
        self.ids.release(&stream.request);
        if let Some(type_streams) = self.types.get_mut(&stream.name) {
            type_streams.take(&stream);
            type_streams.classes.release(&stream.class);
            type_streams.size -= 1;
            if type_streams.size == 0 {
                self.types.remove(&stream.name);
            }
        }
    }

    /// Returns the names of the types that have streams.
    pub fn names(&self) -> impl Iterator<Item = &EventName> {
        self.types.keys()
    }

    /// Returns the id of the stream that currently has a slot.
    pub fn id_at(&self, slot: u32) -> Option<StreamId> {
        Some(self.streams.at(slot)?.id)
    }

    /// Returns the shared text of an epoch.
    fn shared(&mut self, epoch: &str) -> Arc<str> {
        match &self.epoch {
            Some(known) if **known == *epoch => known.clone(),
            _ => self.epoch.insert(epoch.into()).clone(),
        }
    }
}
