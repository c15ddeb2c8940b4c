use crate::{
    bus::{BusMessage, Place},
    clock::Millis,
    event::ServerEvent,
    listen::Stamp,
    sse,
};

/// A bus frame with an event for many streams of one process: it is read once, and written once for each subscription id.
///
/// [`Edge::handle_shared`](super::Edge::handle_shared) gives it to one of them.
#[derive(Debug)]
pub struct SharedEvent {
    pub(super) place: Place,
    pub(super) at: Option<Millis>,
    pub(super) event: ServerEvent,
    chunks: Vec<Vec<u8>>,
    /// Which chunk a stamp has; of many stamps the first ones.
    known: Vec<(Stamp, usize)>,
}

/// What became of a shared event at one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Nothing comes before it: the host writes at once what [`SharedEvent::chunk`] has at this place.
    Written(usize),
    /// It waits until there is room.
    Waiting,
    /// Nothing has changed: the frame is to be handled like any other.
    Unchanged,
}

impl SharedEvent {
    /// The event of a frame, if it has one that can be read and is written to streams: what ends them is not.
    pub fn read(text: &str) -> Option<Self> {
        let Ok(BusMessage::Event {
            position,
            previous,
            at,
            event,
        }) = BusMessage::from_json(text)
        else {
            return None;
        };
        if matches!(event, ServerEvent::Revoked { .. }) {
            return None;
        }
        Some(Self {
            place: Place { position, previous },
            at,
            event,
            chunks: Vec::new(),
            known: Vec::new(),
        })
    }

    /// The bytes to write, by their place.
    pub fn chunk(&self, place: usize) -> &[u8] {
        self.chunks.get(place).map_or(&[], Vec::as_slice)
    }

    /// The place of the bytes for streams with this stamp.
    pub(super) fn written(&mut self, stamp: &Stamp) -> usize {
        let known = self.known.iter().find(|(known, _)| known == stamp);
        if let Some((_, place)) = known {
            return *place;
        }
        let place = self.chunks.len();
        self.chunks
            .push(sse::event(&stamp.notification(self.event.change())));
        if self.known.len() < MOST_KNOWN {
            self.known.push((stamp.clone(), place));
        }
        place
    }
}

/// Clients mint few ids; where they do not, looking for one must not cost more than writing it.
const MOST_KNOWN: usize = 8;
