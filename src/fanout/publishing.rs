use alloc::vec::Vec;

use crate::{clock::Millis, listen::StreamKind, vocabulary::event::ServerEvent};

use super::{
    Fanout, Published, StreamId, WriteBatch,
    batch_tree::BatchTree,
    frame::Frame,
    published::{DeliveryCount, LastPublish, collapsed},
    slab::StreamEntry,
};

/// Publishing: takes one event, returns the bytes for every stream that wants it.
impl Fanout {
    /// Publishes an event; `published` and `now` are times of the same clock. Write the returned
    /// chunks at once; for streams without room, call [`Fanout::handle_missed`] before any other
    /// method.
    pub fn publish(&mut self, event: ServerEvent, published: Millis, now: Millis) -> WriteBatch {
        self.publish_one(Published::at(event, published), now)
    }

    /// Publishes several events, in this order: as [`Fanout::publish`], but each stream gets all
    /// its frames in one chunk, one for each subject.
    pub fn publish_all(
        &mut self,
        events: Vec<ServerEvent>,
        published: Millis,
        now: Millis,
    ) -> WriteBatch {
        let events = events.into_iter();
        let mut events = events
            .map(|event| Published::at(event, published))
            .collect();
        self.publish_received(&mut events, usize::MAX, now)
    }

    /// As [`Fanout::publish_all`], for events whose times and positions may differ. Takes the first
    /// of them, up to the one with which the chunks reach `max_bytes`.
    pub(crate) fn publish_received(
        &mut self,
        events: &mut Vec<Published>,
        max_bytes: usize,
        now: Millis,
    ) -> WriteBatch {
        match events.pop() {
            None => WriteBatch::default(),
            Some(event) if events.is_empty() => self.publish_one(event, now),
            Some(last) => {
                events.push(last);
                self.publish_many(events, max_bytes, now)
            }
        }
    }

    fn publish_one(&mut self, published: Published, now: Millis) -> WriteBatch {
        let mut batch = WriteBatch::default();
        let mut chunks = core::mem::take(&mut self.chunks);
        let mut frame = Frame::new(&published.event);
        chunks.forget();
        self.each_receiver(&published, now, &mut |kind_number, id, kind| {
            let chunk = chunks.get(kind_number).unwrap_or_else(|| {
                chunks.push(kind_number);
                frame.push(&mut batch.bytes, kind);
                batch.end_chunk()
            });
            batch.writes.push((id, chunk));
        });
        self.chunks = chunks;
        self.last = LastPublish {
            events: vec![published],
            at: now,
        };
        batch
    }

    fn publish_many(
        &mut self,
        received: &mut Vec<Published>,
        max_bytes: usize,
        now: Millis,
    ) -> WriteBatch {
        let mut events = collapsed(core::mem::take(received));
        let mut tree = BatchTree::new(core::mem::take(&mut self.places), self.slab.slot_count());
        for (number, published) in events.iter().enumerate() {
            if tree.bytes() >= max_bytes {
                *received = events.split_off(number);
                break;
            }
            let mut frame = Frame::new(&published.event);
            self.each_receiver(published, now, &mut |kind_number, id, kind| {
                tree.push(id.slot(), kind_number, number, |bytes| {
                    frame.push(bytes, kind);
                });
            });
        }
        self.last = LastPublish { events, at: now };
        let (batch, places) = tree.into_batch(|slot| self.id_at(slot));
        self.places = places;
        batch
    }

    /// Handles streams that had no room for the chunks of the last publish: their cues become
    /// pending.
    pub fn handle_missed(&mut self, streams: impl IntoIterator<Item = StreamId>, now: Millis) {
        let last = core::mem::take(&mut self.last);
        for id in streams {
            let Some(entry) = self.slab.get_mut(id) else {
                continue;
            };
            for Published {
                event,
                at,
                position,
                ..
            } in &last.events
            {
                if entry.stream.is_ended_by(event) {
                    break;
                }
                if entry.receives(*position) {
                    entry.stream.handle_unwritten(event, *at, last.at);
                }
            }
            entry.stream.handle_blocked(now);
            self.reschedule(id);
        }
        self.last = last;
    }

    /// Returns the events of the last publish: for each subject the latest.
    pub fn last(&self) -> &[Published] {
        &self.last.events
    }

    /// Returns the streams that the last publish returned no chunk for and that have to be polled:
    /// they are polled streams, have ended, or have to be authorized again, see
    /// [`Fanout::poll_question`].
    pub fn take_due(&mut self) -> Vec<StreamId> {
        core::mem::take(&mut self.due)
    }

    /// Calls `deliver` for each stream that receives the event and can be written to; for every
    /// other stream that receives it the cue becomes pending.
    fn each_receiver(
        &mut self,
        published: &Published,
        now: Millis,
        deliver: &mut dyn FnMut(u32, StreamId, &StreamKind),
    ) {
        let Published {
            event,
            at,
            position,
            repeats,
        } = published;
        let is_end = matches!(event, ServerEvent::Disconnect { .. });
        let mut waiting = Vec::new();
        let mut count = DeliveryCount::new(at.map(|at| now - at));
        let mut reader = None;
        for slot in self.index.matching(event) {
            let own = self.readers.at(slot);
            // It has the event already.
            if own.is_some() && own == reader && !is_end {
                continue;
            }
            let Some(entry) = self.slab.at_mut(slot) else {
                continue;
            };
            let id = entry.id;
            // A stream was authorized before it was acknowledged: a disconnect since then concerns
            // it, whatever its position.
            if is_end {
                entry.stream.handle_event_of(event, *at);
                self.due.extend(entry.stream.is_ending().then_some(id));
                continue;
            }
            if !entry.receives(*position) {
                continue;
            }
            entry.stream.count_repeats(*repeats);
            if entry.is_polled {
                entry.enqueue(published);
                self.due.push(id);
                continue;
            }
            if entry.stream.handle_written(now) {
                count.count(entry.stream.metrics());
                deliver(entry.kind_number, id, entry.stream.kind());
                reader = own;
                continue;
            }
            self.due.extend(entry.hold(published, now).then_some(id));
            waiting.push(id);
        }
        count.end();
        for id in waiting {
            self.reschedule(id);
        }
    }
}

impl StreamEntry {
    /// Makes the cue of an event pending in a stream that is polled.
    fn enqueue(&mut self, published: &Published) {
        let (event, at) = (&published.event, published.at);
        match published.position {
            Some(position) => self.stream.handle_event_at(event, position, at),
            None => self.stream.handle_event_of(event, at),
        }
    }

    /// Makes the cue of an event pending in a stream that cannot be written to. Returns whether to
    /// poll it: it may have room, and its caller has to be authorized again.
    fn hold(&mut self, published: &Published, now: Millis) -> bool {
        let was_idle = self.stream.pending_cues() == 0;
        self.stream.handle_event_of(&published.event, published.at);
        let is_due = self.stream.is_withheld(now) && was_idle;
        if !is_due {
            self.stream.handle_blocked(now);
        }
        is_due
    }
}
