use std::sync::Arc;

use crate::{
    bus::{BusMessage, Place},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::Stamp,
    sse,
    topic::Topic,
};

/// A run of bus frames with events for many streams of one process: they are read once, and written once for each subscription id.
///
/// [`Edge::handle_shared`](super::Edge::handle_shared) gives them to one of the streams.
#[derive(Debug)]
pub struct SharedEvents {
    /// Each comes right after the one before it, and is about something else; never empty.
    pub(super) events: Vec<PlacedEvent>,
    /// What the stream honors that took in all of them last: mostly the next one honors the same.
    accepting: Option<Arc<SubscriptionFilter>>,
    chunks: Vec<Vec<u8>>,
    /// Which chunk a stamp has; of many stamps the first ones.
    known: Vec<(Stamp, usize)>,
}

/// One event of a run.
#[derive(Debug)]
pub(super) struct PlacedEvent {
    pub(super) place: Place,
    pub(super) at: Option<Millis>,
    pub(super) event: ServerEvent,
}

/// What became of shared events at one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Nothing comes before them: the host writes at once what [`SharedEvents::chunk`] has at this place.
    Written(usize),
    /// They wait until there is room.
    Waiting,
    /// Nothing has changed: each frame is to be handled like any other.
    Unchanged,
}

impl SharedEvents {
    /// The events of a run of frames. `None` unless each of them has one that can be read and is written to streams, which
    /// what ends them is not, comes right after the one before it, and is about something else than the others.
    pub fn read<Frame: AsRef<str>>(frames: &[Frame]) -> Option<Self> {
        let mut topics = Vec::with_capacity(frames.len());
        let mut events: Vec<PlacedEvent> = Vec::with_capacity(frames.len());
        for frame in frames {
            let read = PlacedEvent::read(frame.as_ref())?;
            let topic = Topic::of(&read.event);
            let former = events.last().map(|former| former.place.position);
            if topics.contains(&topic) || (former.is_some() && read.place.previous != former) {
                return None;
            }
            topics.push(topic);
            events.push(read);
        }
        (!events.is_empty()).then(|| Self {
            events,
            accepting: None,
            chunks: Vec::new(),
            known: Vec::new(),
        })
    }

    /// The bytes to write, by their place.
    pub fn chunk(&self, place: usize) -> &[u8] {
        self.chunks.get(place).map_or(&[], Vec::as_slice)
    }

    /// Where the first and the last one stand.
    pub(super) fn places(&self) -> Option<(Place, Place)> {
        Some((self.events.first()?.place, self.events.last()?.place))
    }

    /// Whether a stream that honors this takes in all of them.
    pub(super) fn are_accepted(&mut self, honored: &Arc<SubscriptionFilter>) -> bool {
        if self.accepting.as_ref() == Some(honored) {
            return true;
        }
        let is_all = self
            .events
            .iter()
            .all(|placed| honored.accepts(&placed.event));
        if is_all {
            self.accepting = Some(honored.clone());
        }
        is_all
    }

    /// The place of the bytes for streams with this stamp.
    pub(super) fn written(&mut self, stamp: &Stamp) -> usize {
        let known = self.known.iter().find(|(known, _)| known == stamp);
        if let Some((_, place)) = known {
            return *place;
        }
        let place = self.chunks.len();
        let messages = self.events.iter().map(|placed| placed.event.change());
        let frames = messages.map(|change| sse::event(&stamp.notification(change)));
        self.chunks.push(frames.collect::<Vec<_>>().concat());
        if self.known.len() < MOST_KNOWN {
            self.known.push((stamp.clone(), place));
        }
        place
    }
}

impl PlacedEvent {
    fn read(text: &str) -> Option<Self> {
        let Ok(BusMessage::Event {
            position,
            previous,
            at,
            event,
        }) = BusMessage::from_json(text)
        else {
            return None;
        };
        let is_change = !matches!(event, ServerEvent::Revoked { .. });
        is_change.then_some(Self {
            place: Place { position, previous },
            at,
            event,
        })
    }
}

/// Clients mint few ids; where they do not, looking for one must not cost more than writing it.
const MOST_KNOWN: usize = 8;
