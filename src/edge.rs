//! The edge: what holds one client's stream and joins it to the bus.

use crate::{
    bus::{BusMessage, EdgeMessage, Interest, Mark, ProtocolError},
    clock::Millis,
    listen::{Output, ServerStream},
    sse,
};

/// One client's stream over HTTP: bus frames in, server-sent events out.
///
/// Drive it as [`ServerStream`] says; it answers in bytes of the response body.
#[derive(Debug)]
pub struct Edge {
    stream: ServerStream,
    mark: Option<Mark>,
}

impl Edge {
    /// Joins `stream` to a bus; send [`Edge::attach_message`] there first.
    pub fn new(stream: ServerStream) -> Self {
        Self { stream, mark: None }
    }

    /// The frame that registers this edge with its bus.
    pub fn attach_message(&self) -> String {
        EdgeMessage::Attach(Interest::Filter(self.stream.honored().clone())).to_json()
    }

    /// A frame came from the bus.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped, and nothing has changed.
    pub fn handle_bus_message(&mut self, text: &str, now: Millis) -> Result<(), ProtocolError> {
        match BusMessage::from_json(text)? {
            BusMessage::Attached(mark) => {
                self.mark = Some(mark);
                self.stream.handle_attached(now);
            }
            BusMessage::Event { position, event } => {
                let mark = self.mark.as_mut().ok_or(ProtocolError::OutOfPlace)?;
                mark.position = position;
                self.stream.handle_event(&event);
            }
        }
        Ok(())
    }

    /// There is nothing to register: the stream is acknowledged and ends at once.
    pub fn finish_without_bus(&mut self, now: Millis) {
        self.stream.handle_attached(now);
        self.stream.close();
    }

    /// The next bytes of the response body, or `None` until something is handled again.
    pub fn poll_frame(&mut self, now: Millis) -> Option<Frame> {
        self.stream.poll_output(now).map(|output| match output {
            Output::Message(message) => Frame::Bytes(sse::event(&message)),
            Output::KeepAlive => Frame::Bytes(sse::KEEP_ALIVE.to_vec()),
            Output::End => Frame::End,
        })
    }

    /// The stream, for its deadlines and its end.
    pub fn stream(&mut self) -> &mut ServerStream {
        &mut self.stream
    }

    /// Where in the bus's log this edge stands; `None` until it is attached.
    pub fn mark(&self) -> Option<&Mark> {
        self.mark.as_ref()
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
