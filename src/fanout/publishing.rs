use alloc::vec::Vec;

use crate::{clock::Millis, listen::Stamp, vocabulary::event::ServerEvent};

use super::{
    Fan, Fanout, Published, StreamId,
    bundles::Bundles,
    frame::Frame,
    published::{Told, collapsed},
};

/// Publishing: takes one event, returns the bytes for every stream that wants it.
impl Fanout {
    /// Publishes an event; `published` and `now` are times of the same clock. Write the returned
    /// chunks at once; for streams without room, call [`Fanout::handle_missed`] before any other
    /// method.
    pub fn publish(&mut self, event: ServerEvent, published: Millis, now: Millis) -> Fan {
        self.publish_one(Published::at(event, published), now)
    }

    /// Publishes several events, in this order: as [`Fanout::publish`], but each stream gets all
    /// its frames in one chunk, one for each subject.
    pub fn publish_all(&mut self, events: Vec<ServerEvent>, published: Millis, now: Millis) -> Fan {
        let events = events.into_iter();
        self.publish_heard(
            events
                .map(|event| Published::at(event, published))
                .collect(),
            now,
        )
    }

    /// As [`Fanout::publish_all`], for events whose times and positions may differ.
    pub(crate) fn publish_heard(&mut self, mut events: Vec<Published>, now: Millis) -> Fan {
        match events.pop() {
            None => Fan::default(),
            Some(event) if events.is_empty() => self.publish_one(event, now),
            Some(last) => {
                events.push(last);
                self.publish_many(events, now)
            }
        }
    }

    fn publish_one(&mut self, published: Published, now: Millis) -> Fan {
        let mut fan = Fan::default();
        let mut chunks = core::mem::take(&mut self.chunks);
        let mut frame = Frame::new(&published.event);
        chunks.forget();
        self.each_hearer((&published, 0), now, &mut |group, id, stamp| {
            let chunk = chunks.get(group).unwrap_or_else(|| {
                chunks.push(group);
                frame.push(&mut fan.bytes, stamp);
                fan.end_chunk()
            });
            fan.writes.push((id, chunk));
        });
        self.chunks = chunks;
        self.last = vec![published];
        fan
    }

    fn publish_many(&mut self, events: Vec<Published>, now: Millis) -> Fan {
        let events = collapsed(events);
        let mut bundles = Bundles::new(self.slots.most());
        for (number, (published, repeats)) in events.iter().enumerate() {
            let mut frame = Frame::new(&published.event);
            self.each_hearer((published, *repeats), now, &mut |group, id, stamp| {
                bundles.push(id.slot(), group, number, |bytes| frame.push(bytes, stamp));
            });
        }
        self.last = events.into_iter().map(|(event, _)| event).collect();
        bundles.fan(|slot| self.id_at(slot))
    }

    /// Handles streams that had no room for the chunks of the last publish: their cues become
    /// pending.
    pub fn handle_missed(&mut self, streams: impl IntoIterator<Item = StreamId>, now: Millis) {
        let events = core::mem::take(&mut self.last);
        for id in streams {
            let Some(held) = self.slots.get_mut(id) else {
                continue;
            };
            for published in &events {
                if held.hears(published.position) {
                    held.stream
                        .handle_unwritten(&published.event, published.at, now);
                }
            }
            held.stream.handle_blocked(now);
            self.plan(id);
        }
        self.last = events;
    }

    /// Returns the events of the last publish: for each subject the latest.
    pub fn last(&self) -> &[Published] {
        &self.last
    }

    /// Returns the streams that the last publish returned no chunk for and that have to be polled:
    /// they are polled streams, have ended, or have to be authorized again, see
    /// [`Fanout::poll_question`].
    pub fn take_due(&mut self) -> Vec<StreamId> {
        core::mem::take(&mut self.due)
    }

    /// Calls `hear` for each stream that receives the event and can be written to; for every other
    /// stream that receives it the cue becomes pending.
    fn each_hearer(
        &mut self,
        (published, repeats): (&Published, usize),
        now: Millis,
        hear: &mut dyn FnMut(u32, StreamId, &Stamp),
    ) {
        let Published {
            event,
            at,
            position,
        } = published;
        let is_end = matches!(event, ServerEvent::Disconnect { .. });
        let mut waiting = Vec::new();
        let mut told = Told::new(at.map(|at| now - at));
        for slot in self.index.matching(event) {
            let Some(held) = self.slots.at_mut(slot) else {
                continue;
            };
            let id = held.id;
            // A stream was authorized before it was acknowledged: a disconnect since then concerns
            // it, whatever its position.
            if is_end {
                held.stream.handle_event_of(event, *at);
                self.due.extend(held.stream.is_ending().then_some(id));
                continue;
            }
            if !held.hears(*position) {
                continue;
            }
            held.stream.count_repeats(repeats);
            if held.is_polled {
                match position {
                    Some(position) => held.stream.handle_event_at(event, *position, *at),
                    None => held.stream.handle_event_of(event, *at),
                }
                self.due.push(id);
                continue;
            }
            if held.stream.handle_written(now) {
                told.count(held.stream.tally());
                hear(held.group, id, held.stream.stamp());
                continue;
            }
            let was_idle = held.stream.pending_cues() == 0;
            held.stream.handle_event_of(event, *at);
            // The stream may have room: poll it so that its caller is authorized again.
            if held.stream.is_withheld(now) && was_idle {
                self.due.push(id);
            } else {
                held.stream.handle_blocked(now);
            }
            waiting.push(id);
        }
        told.end();
        for id in waiting {
            self.plan(id);
        }
    }
}
