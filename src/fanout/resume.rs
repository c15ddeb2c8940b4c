use alloc::{string::String, vec::Vec};

use crate::{
    legacy::event_id,
    listen::{ServerStream, StreamOutput},
    sse,
    vocabulary::position::Cursor,
};

/// The event ids of a session's stream, with which its client resumes (2025-11-25, Transports:
/// Resumability and Redelivery).
#[derive(Debug, Default)]
pub(super) struct Resume {
    /// The cursor in the log of the bus up to which every event was delivered to the stream.
    delivered: Option<Cursor>,
    /// The id that the client received last.
    last_id: Option<String>,
}

impl Resume {
    /// Records the cursor up to which every event was delivered to the stream.
    pub(super) fn handle_delivered(&mut self, cursor: Option<Cursor>) {
        self.delivered = cursor;
    }

    /// Encodes an output; `None` for an end.
    pub(super) fn frame(&mut self, stream: &ServerStream, output: StreamOutput) -> Option<Vec<u8>> {
        match output {
            StreamOutput::Opened => Some(sse::priming(&self.next_id(stream))),
            StreamOutput::Message(message) => Some(self.identified(stream, sse::event(&message))),
            StreamOutput::KeepAlive => Some(sse::KEEP_ALIVE.to_vec()),
            StreamOutput::End => None,
        }
    }

    /// Adds the id to a frame, unless the client received the same id last.
    fn identified(&mut self, stream: &ServerStream, frame: Vec<u8>) -> Vec<u8> {
        let former = self.last_id.take();
        let id = self.next_id(stream);
        if former.as_ref() == Some(&id) {
            return frame;
        }
        sse::identified(&id, &frame)
    }

    /// Returns the id up to which the client has missed nothing, once it has read what was polled.
    fn next_id(&mut self, stream: &ServerStream) -> String {
        let covered = self.delivered.as_ref().and_then(|delivered| {
            Some(Cursor {
                position: stream.covered(delivered.position)?,
                epoch: delivered.epoch.clone(),
            })
        });
        let id = event_id::write(covered.as_ref());
        self.last_id = Some(id.clone());
        id
    }
}

/// Encodes an output of a stream that cannot be resumed; `None` if nothing is to be written.
pub(super) fn frame(output: StreamOutput) -> Option<Vec<u8>> {
    match output {
        StreamOutput::Message(message) => Some(sse::event(&message)),
        StreamOutput::KeepAlive => Some(sse::KEEP_ALIVE.to_vec()),
        StreamOutput::Opened | StreamOutput::End => None,
    }
}
