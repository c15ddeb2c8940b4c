//! The edge: what holds one client's stream and joins it to the bus.

use crate::{
    bus::{Attach, BusMessage, EdgeMessage, Interest, Mark, ProtocolError},
    clock::Millis,
    legacy::event_id,
    listen::{Output, ServerStream, Stamp},
    sse,
};

/// One client's stream over HTTP: bus frames in, server-sent events out.
///
/// Drive it as [`ServerStream`] says; it answers in bytes of the response body.
#[derive(Debug)]
pub struct Edge {
    stream: ServerStream,
    mark: Option<Mark>,
    past: Past,
    last_id: Option<String>,
}

/// What the client of a stream has heard before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Past {
    /// Nothing: it begins here.
    None,
    /// Everything up to this mark.
    Since(Mark),
    /// Something, but nobody can say up to where.
    Unknown,
}

impl Edge {
    /// Joins `stream` to a bus; send [`Edge::attach_message`] there first.
    pub fn new(stream: ServerStream) -> Self {
        Self::resuming(stream, Past::None)
    }

    /// Joins to a bus a stream that goes on from where an earlier one ended: what the bus
    /// does not replay is made up for by cueing every honored subject once.
    pub fn resuming(stream: ServerStream, past: Past) -> Self {
        Self {
            stream,
            mark: None,
            past,
            last_id: None,
        }
    }

    /// The frame that registers this edge with its bus.
    pub fn attach_message(&self) -> String {
        EdgeMessage::Attach(Attach {
            since: match &self.past {
                Past::Since(mark) => Some(mark.clone()),
                Past::None | Past::Unknown => None,
            },
            ..Attach::new(Interest::Filter(self.stream.honored().clone()))
        })
        .to_json()
    }

    /// A frame came from the bus.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped, and nothing has changed.
    pub fn handle_bus_message(&mut self, text: &str, now: Millis) -> Result<(), ProtocolError> {
        match BusMessage::from_json(text)? {
            BusMessage::Attached(mark) => self.handle_attached(mark, now),
            BusMessage::Event {
                position, event, ..
            } => {
                let mark = self.mark.as_mut().ok_or(ProtocolError::OutOfPlace)?;
                mark.position = position;
                self.stream.handle_event_at(&event, position);
            }
            BusMessage::Interest(Interest::Filter(filter)) => self.stream.handle_filter(filter),
            BusMessage::Interest(Interest::Everything) => return Err(ProtocolError::OutOfPlace),
        }
        Ok(())
    }

    /// A bus that goes on from where this edge was says just that mark.
    fn handle_attached(&mut self, mark: Mark, now: Millis) {
        let is_whole = match std::mem::replace(&mut self.past, Past::None) {
            Past::None => true,
            Past::Since(since) => since == mark,
            Past::Unknown => false,
        };
        if !is_whole {
            self.stream.handle_gap();
        }
        self.mark = Some(mark);
        self.stream.handle_attached(now);
    }

    /// There is nothing to register: the stream is acknowledged and ends at once.
    pub fn finish_without_bus(&mut self, now: Millis) {
        self.stream.handle_attached(now);
        self.stream.close();
    }

    /// The next bytes of the response body, or `None` until something is handled again.
    pub fn poll_frame(&mut self, now: Millis) -> Option<Frame> {
        let frame = match self.stream.poll_output(now)? {
            Output::Opened => sse::priming(&self.event_id()),
            Output::Message(message) => self.identified(sse::event(&message)),
            Output::KeepAlive => sse::KEEP_ALIVE.to_vec(),
            Output::End => return Some(Frame::End),
        };
        Some(Frame::Bytes(frame))
    }

    /// The stream, for its deadlines and its end.
    pub fn stream(&mut self) -> &mut ServerStream {
        &mut self.stream
    }

    /// Where in the bus's log this edge stands; `None` until it is attached.
    pub fn mark(&self) -> Option<&Mark> {
        self.mark.as_ref()
    }

    /// Only the streams of sessions resume; an id that says nothing new is left out.
    fn identified(&mut self, frame: Vec<u8>) -> Vec<u8> {
        if matches!(self.stream.stamp(), Stamp::Subscription(_)) {
            return frame;
        }
        let former = self.last_id.take();
        let id = self.event_id();
        if former.as_ref() == Some(&id) {
            return frame;
        }
        sse::identified(&id, &frame)
    }

    /// The id after which nothing has been missed, once what was polled has been read.
    fn event_id(&mut self) -> String {
        let covered = self.mark.as_ref().and_then(|mark| {
            let position = self.stream.covered(mark.position)?;
            Some(Mark {
                position,
                epoch: mark.epoch.clone(),
            })
        });
        let id = event_id::write(covered.as_ref());
        self.last_id = Some(id.clone());
        id
    }
}

/// A piece of the response body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Bytes to write.
    Bytes(Vec<u8>),
    /// The body ends here.
    End,
}
