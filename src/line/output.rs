use crate::{
    bus::{Delivery, EdgeId, Mark},
    event::ServerEvent,
    topic::Topic,
};

use super::Line;

/// What a line wants done for its streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineOutput {
    /// Frames to give to streams one after another, in words of the bus protocol. Of events that the same streams get in a row, and that
    /// are about different things, there may be several.
    Send {
        /// The frames, of which there is at least one.
        messages: Vec<String>,
        /// The streams, in ascending order.
        edges: Vec<EdgeId>,
    },
    /// The line holds a stream no longer.
    Lose {
        /// Which.
        edge: EdgeId,
        /// Up to where in the log of the bus an open stream was given everything: it attaches there
        /// by itself and misses nothing. `None` for a stream that was never told that it is attached.
        since: Option<Mark>,
    },
    /// A stream is held no more: the bus has no room for what it wants. It was never told that it is attached.
    Refuse(EdgeId),
}

/// What is to be done about the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineCall {
    /// Give up the connection that there is.
    Leave,
    /// Make a new connection, and send this on it first.
    Attach(String),
    /// Send this on the connection that there is.
    Send(String),
}

impl Line {
    /// The next thing to do for the streams.
    pub fn poll_output(&mut self) -> Option<LineOutput> {
        self.outputs.pop_front()
    }

    /// An output that no other one joins.
    pub(super) fn put(&mut self, output: LineOutput) {
        self.run.clear();
        self.outputs.push_back(output);
    }

    /// The frame of an event: together with those before it, where the same streams get them and may write them at once.
    pub(super) fn put_event(&mut self, Delivery { message, edges }: Delivery, event: &ServerEvent) {
        let topic = Topic::of(event);
        if self.joins(&topic)
            && let Some(LineOutput::Send {
                messages,
                edges: former,
            }) = self.outputs.back_mut()
            && *former == edges
            && messages.iter().map(String::len).sum::<usize>() + message.len() <= RUN_BYTES
        {
            messages.push(message);
            self.run.push(topic);
            return;
        }
        let messages = vec![message];
        self.put(LineOutput::Send { messages, edges });
        // What ends streams stands alone.
        if !matches!(event, ServerEvent::Revoked { .. }) {
            self.run.push(topic);
        }
    }

    fn joins(&self, topic: &Topic) -> bool {
        (1..MOST_OF_RUN).contains(&self.run.len())
            && !self.run.contains(topic)
            && *topic != Topic::Revocations
    }
}

/// Bytes of the frames that are written together.
const RUN_BYTES: usize = 16_384;
/// Each is compared with all of the others.
const MOST_OF_RUN: usize = 64;
