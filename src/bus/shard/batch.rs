use alloc::string::String;

use crate::{
    clock::Millis,
    vocabulary::{
        event::ServerEvent,
        position::{Mark, Position},
        topic::Topic,
    },
    wire::{Batch, ProtocolError, Taken},
};

use super::{Shard, ShardOutput};

impl Shard {
    /// The root sent a batch; the answer to it. What it leads to has to be sent before the answer.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call fails then, and nothing has changed.
    pub fn handle_batch(&mut self, text: &str, now: Millis) -> Result<String, ProtocolError> {
        let batch = Batch::from_json(text)?;
        if batch.is_last {
            self.retire();
        } else if !self.is_retired {
            self.take(batch);
            self.low.handle_count(self.edges.attached(), now);
        }
        let taken = Taken {
            edges: self.count(),
            is_retired: self.is_retired,
        };
        Ok(taken.to_json())
    }

    /// Takes the events of a batch. Where some before it are missing, the root is asked, and
    /// tells these again.
    pub(super) fn take(&mut self, batch: Batch) {
        let end = Mark {
            epoch: batch.epoch.unwrap_or_default(),
            position: batch.through,
        };
        if self
            .mark
            .as_ref()
            .is_some_and(|mark| mark.epoch != end.epoch)
        {
            self.begin_anew();
        }
        let reached = self.mark.as_ref().map(|mark| mark.position);
        // Before the first answer too: what is left out may lie behind the mark that it will name.
        self.is_behind |= batch.previous > reached;
        if self.is_behind {
            if let Some(flight) = &mut self.flight {
                flight.is_passed = true;
            }
            return;
        }
        for (position, event) in batch.events {
            if reached.is_none_or(|reached| reached < position) {
                self.deliver(position, batch.at, event);
            }
        }
        if reached.is_none_or(|reached| reached < end.position) {
            self.mark = Some(end);
        }
    }

    pub(super) fn deliver(&mut self, position: Position, at: Option<Millis>, event: ServerEvent) {
        let deliveries = self.edges.deliveries(position, at, &event);
        let sends = deliveries.into_iter().map(ShardOutput::Send);
        self.outputs.extend(sends);
        self.wants
            .handle_event(&event, |topic| self.edges.is_wanted(topic));
        if self.flight.is_some() {
            let subject = Topic::subject_of(&event);
            self.kept.insert(subject, (position, event));
        }
    }
}
