use alloc::string::String;

use crate::{
    clock::Millis,
    vocabulary::{
        event::ServerEvent,
        position::{Cursor, Position},
        topic::Topic,
    },
    wire::{Batch, BatchAck, ProtocolError},
};

use super::{Shard, ShardOutput};

impl Shard {
    /// Handles a batch of the root and returns the reply. Carry out the outputs before you send the
    /// reply.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call fails and changes nothing.
    pub fn handle_batch(&mut self, text: &str, now: Millis) -> Result<String, ProtocolError> {
        let batch = Batch::from_json(text)?;
        if batch.is_last {
            self.retire();
        } else if !self.is_retired {
            self.take(batch);
            self.low.handle_count(self.edges.attached(), now);
        }
        let ack = BatchAck {
            edges: self.count(),
            is_retired: self.is_retired,
        };
        Ok(ack.to_json())
    }

    /// Delivers the events of a batch. If events before it are missing, requests them from the
    /// root, which then sends these again.
    pub(super) fn take(&mut self, batch: Batch) {
        let end = Cursor {
            epoch: batch.epoch.unwrap_or_default(),
            position: batch.through,
        };
        if self
            .cursor
            .as_ref()
            .is_some_and(|cursor| cursor.epoch != end.epoch)
        {
            self.start_over();
        }
        let reached = self.cursor.as_ref().map(|cursor| cursor.position);
        // This holds before the first reply too: the omitted events may be after the cursor of that
        // reply.
        self.is_behind |= batch.previous > reached;
        if self.is_behind {
            if let Some(call) = self.flight.call_mut() {
                call.sent.is_passed = true;
            }
            return;
        }
        for (position, event) in batch.events {
            if reached.is_none_or(|reached| reached < position) {
                self.deliver(position, batch.at, event);
            }
        }
        if reached.is_none_or(|reached| reached < end.position) {
            self.cursor = Some(end);
        }
    }

    pub(super) fn deliver(&mut self, position: Position, at: Option<Millis>, event: ServerEvent) {
        let deliveries = self.edges.deliveries(position, at, &event);
        let sends = deliveries.into_iter().map(ShardOutput::Send);
        self.outputs.extend(sends);
        self.interest
            .handle_event(&event, |topic| self.edges.is_wanted(topic));
        if !self.flight.is_empty() {
            let subject = Topic::subject_of(&event);
            self.arrived.insert(subject, (position, event));
        }
    }
}
