use alloc::{string::String, vec::Vec};

use crate::{
    bus::Mark,
    legacy::event_id,
    listen::{Output, ServerStream},
    sse,
};

/// What the stream of a session tells beside its messages: the ids of its events, after which its client goes on
/// (2025-11-25, Transports: Resumability and Redelivery).
#[derive(Debug, Default)]
pub(super) struct Resume {
    /// Up to where in the log of its bus the stream was given everything.
    given: Option<Mark>,
    /// The id that its client knows.
    last_id: Option<String>,
}

impl Resume {
    /// The stream is given everything up to here.
    pub(super) fn handle_given(&mut self, mark: Option<Mark>) {
        self.given = mark;
    }

    /// What is written of an output; `None` of an end.
    pub(super) fn frame(&mut self, stream: &ServerStream, output: Output) -> Option<Vec<u8>> {
        match output {
            Output::Opened => Some(sse::priming(&self.next_id(stream))),
            Output::Message(message) => Some(self.identified(stream, sse::event(&message))),
            Output::KeepAlive => Some(sse::KEEP_ALIVE.to_vec()),
            Output::End => None,
        }
    }

    /// An id that says nothing new is left out.
    fn identified(&mut self, stream: &ServerStream, frame: Vec<u8>) -> Vec<u8> {
        let former = self.last_id.take();
        let id = self.next_id(stream);
        if former.as_ref() == Some(&id) {
            return frame;
        }
        sse::identified(&id, &frame)
    }

    /// The id after which nothing has been missed, once what was polled has been read.
    fn next_id(&mut self, stream: &ServerStream) -> String {
        let covered = self.given.as_ref().and_then(|given| {
            Some(Mark {
                position: stream.covered(given.position)?,
                epoch: given.epoch.clone(),
            })
        });
        let id = event_id::write(covered.as_ref());
        self.last_id = Some(id.clone());
        id
    }
}

/// What is written of an output of a stream that nobody goes on from.
pub(super) fn frame(output: Output) -> Option<Vec<u8>> {
    match output {
        Output::Message(message) => Some(sse::event(&message)),
        Output::KeepAlive => Some(sse::KEEP_ALIVE.to_vec()),
        Output::Opened | Output::End => None,
    }
}
