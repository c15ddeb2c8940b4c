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

use super::{class::Class, frames::Frames, message, shared_position::SharedPosition};

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
    pub(super) stamp: u32,
    pub(super) name: EventName,
    /// Its class in its topic.
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

#[derive(Debug)]
pub(super) enum EventStreamState {
    /// Nothing was sent yet.
    Opening {
        cursor: Option<Box<str>>,
        max_age: Option<Millis>,
    },
    Active(StreamProgress),
    /// The last message was sent.
    Ended,
}

/// Up to where a stream has everything.
#[derive(Debug)]
pub(super) struct StreamProgress {
    pub(super) place: SharedPosition,
    /// The place before the batch of this number.
    former: Option<(u64, SharedPosition)>,
}

impl StreamProgress {
    /// Moves to a place; `batch` is the number of the batch that brings the stream there.
    pub(super) fn advance(&mut self, place: SharedPosition, batch: Option<u64>) {
        let former = core::mem::replace(&mut self.place, place);
        self.former = batch.map(|batch| (batch, former));
    }

    /// Goes back to where the stream was before the batch of this number, if that moved it.
    pub(super) fn go_back(&mut self, batch: u64) {
        if let Some((_, former)) = self.former.take_if(|(number, _)| *number == batch) {
            self.place = former;
        }
    }
}

impl EventStream {
    /// Returns up to where it has everything; `None` unless it has begun and not ended.
    pub(super) fn progress(&self) -> Option<&StreamProgress> {
        match &self.state {
            EventStreamState::Active(progress) => Some(progress),
            _ => None,
        }
    }

    pub(super) fn progress_mut(&mut self) -> Option<&mut StreamProgress> {
        match &mut self.state {
            EventStreamState::Active(progress) => Some(progress),
            _ => None,
        }
    }

    /// Begins with a page. Returns the first bytes; `None` if it has begun before.
    pub(super) fn begin(
        &mut self,
        page: &Page,
        epoch: Arc<str>,
        results: &[MatchResult],
    ) -> Option<Vec<u8>> {
        if !matches!(self.state, EventStreamState::Opening { .. }) {
            return None;
        }
        let mut bytes = self.active(page, page.is_truncated());
        self.push(&mut bytes, page, results, page.from);
        self.state = EventStreamState::Active(StreamProgress {
            place: SharedPosition::new(epoch, page.through),
            former: None,
        });
        Some(bytes)
    }

    /// Continues with a page that was read for it alone. Returns its bytes; `None` if there are
    /// none.
    pub(super) fn read(
        &mut self,
        page: &Page,
        epoch: Arc<str>,
        results: &[MatchResult],
    ) -> Option<Vec<u8>> {
        let place = &self.progress()?.place;
        let is_before = place.position < page.from;
        let is_lost = !place.is_of(&epoch) || (page.trimmed && is_before);
        let is_next = !is_before && place.position < page.through;
        if !is_lost && !is_next {
            return None;
        }
        let (from, mut bytes) = if is_lost {
            (page.from, self.active(page, true))
        } else {
            (place.position, Vec::new())
        };
        self.push(&mut bytes, page, results, from);
        let place = SharedPosition::new(epoch, page.through);
        self.progress_mut()?.advance(place, None);
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Returns the frame that says where the stream goes on.
    pub(super) fn active(&self, page: &Page, truncated: bool) -> Vec<u8> {
        let cursor = page.cursor_at(page.from);
        sse::event(&message::active(&self.request, &cursor, truncated))
    }

    /// Returns a heartbeat; `None` unless the stream has begun and not ended.
    pub(super) fn heartbeat(&self) -> Option<Vec<u8>> {
        let cursor = self.progress()?.place.cursor();
        Some(sse::event(&message::heartbeat(&self.request, &cursor)))
    }

    /// Ends the stream. Returns the last bytes; `None` unless it has begun and not ended.
    pub(super) fn terminate(&mut self, error: &EventError) -> Option<Vec<u8>> {
        self.progress()?;
        self.state = EventStreamState::Ended;
        let error = error.to_object(self.codes);
        let mut bytes = sse::event(&message::terminated(&self.request, &error));
        bytes.extend(sse::event(&message::result(&self.request)));
        Some(bytes)
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
