use alloc::{boxed::Box, sync::Arc, vec::Vec};

use crate::{
    clock::Millis,
    events::{
        error::{CodeSet, EventError},
        matching::{Expected, MatchResult, Payloads, select},
        name::EventName,
        page::Page,
    },
    fanout::{Identified, StreamId},
    sse,
    vocabulary::{id::RequestId, position::Position, scope::Name},
};

use super::{
    class::Class,
    frames::Frames,
    message,
    shared_position::{Reach, SharedPosition},
};

/// What a stream needs of its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The id of the request, which becomes the subscription id.
    pub id: RequestId,
    /// The type of the events.
    pub name: EventName,
    /// What the arguments require of an occurrence.
    pub expected: Expected,
    /// The groups of the caller.
    pub groups: Vec<Name>,
    /// After which cursor it begins; `None`: now.
    pub cursor: Option<Box<str>>,
    /// Leaves out what was published longer ago than this.
    pub max_age: Option<Millis>,
    /// The error numbers of the client.
    pub codes: CodeSet,
}

/// A stream of events.
#[derive(Debug)]
pub(super) struct EventStream {
    pub(super) id: StreamId,
    pub(super) request: RequestId,
    /// The number of the request's id.
    pub(super) id_number: u32,
    pub(super) name: EventName,
    /// Its class in its type.
    pub(super) class: Arc<Class>,
    /// The number of the class.
    pub(super) kind: u32,
    pub(super) codes: CodeSet,
    pub(super) state: EventStreamState,
}

impl Identified for EventStream {
    fn id(&self) -> StreamId {
        self.id
    }
}

#[derive(Clone, Debug)]
pub(super) enum EventStreamState {
    /// Nothing was sent yet.
    Opening {
        cursor: Option<Box<str>>,
        max_age: Option<Millis>,
    },
    /// It has everything up to where the log was read for all streams of its type, and nothing
    /// later.
    Current,
    /// It has everything up to another place.
    At(SharedPosition),
    /// The last message was sent.
    Ended,
}

impl EventStream {
    /// Whether it has begun and not ended.
    pub(super) fn is_active(&self) -> bool {
        matches!(
            self.state,
            EventStreamState::Current | EventStreamState::At(_)
        )
    }

    /// Returns the first bytes, with the occurrences of a page; `None` if it has begun before.
    pub(super) fn begin(&self, page: &Page, results: &[MatchResult]) -> Option<Vec<u8>> {
        if !matches!(self.state, EventStreamState::Opening { .. }) {
            return None;
        }
        let mut bytes = self.active(page, page.is_truncated());
        self.push(&mut bytes, page, results, page.from);
        Some(bytes)
    }

    /// Returns the bytes of a page that was read for it alone, while it has everything up to
    /// `place`; `None` unless the page goes on from there.
    pub(super) fn read(
        &self,
        place: &SharedPosition,
        page: &Page,
        results: &[MatchResult],
    ) -> Option<Vec<u8>> {
        match place.reach(page) {
            Reach::After => None,
            // A bus without a log does not say what it has dropped.
            Reach::Before
                if !page.trimmed && *place.epoch == *page.epoch && !page.epoch.is_empty() =>
            {
                None
            }
            Reach::Before => {
                let mut bytes = self.active(page, true);
                self.push(&mut bytes, page, results, page.from);
                Some(bytes)
            }
            Reach::Within => {
                let mut bytes = Vec::new();
                self.push(&mut bytes, page, results, place.position);
                Some(bytes)
            }
        }
    }

    /// Returns the frame that says where the stream goes on.
    pub(super) fn active(&self, page: &Page, truncated: bool) -> Vec<u8> {
        let cursor = page.cursor_at(page.from);
        sse::event(&message::active(&self.request, &cursor, truncated))
    }

    /// Returns a heartbeat of a stream that has everything up to `place`.
    pub(super) fn heartbeat(&self, place: &SharedPosition) -> Vec<u8> {
        sse::event(&message::heartbeat(&self.request, &place.cursor()))
    }

    /// Returns the last bytes of a stream whose subscription ends.
    pub(super) fn terminated(&self, error: &EventError) -> Vec<u8> {
        let error = error.to_object(self.codes);
        let mut bytes = sse::event(&message::terminated(&self.request, &error));
        bytes.extend(sse::event(&message::result(&self.request)));
        bytes
    }

    /// Appends the frames of what it receives after a position.
    fn push(&self, bytes: &mut Vec<u8>, page: &Page, results: &[MatchResult], from: Position) {
        let Class { expected, groups } = &*self.class;
        let payloads = Payloads::new(page, core::iter::once(expected));
        let mut selected = select(page, &payloads, (expected, groups), results);
        selected.retain(|item| {
            let event = page.events.get(item.place());
            event.is_some_and(|event| event.position > from)
        });
        Frames::default().push(bytes, &self.request, (&self.name, page), &selected);
    }
}
