//! Fan-out within one process: one event in, the bytes for every stream that wants it out.

mod bundles;
mod chunks;
mod fan;
mod frame;
mod numbers;
mod slots;
mod tended;

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::{Ending, Output, ServerStream, Stamp},
    scope::Scope,
    sorted::Map,
    sse,
    tally::Tally,
    topic::{Index, Topic, Topics},
};

use bundles::Bundles;
use chunks::Chunks;
use frame::Frame;
use numbers::Numbers;
use slots::Slots;

pub use fan::Fan;
pub use slots::StreamId;
pub use tended::Tended;

/// All subscriptions that one process holds over HTTP on one bus.
///
/// Publishing costs what matches, not what is connected: an index leads from an event to its streams, these are grouped by
/// subscription id, and the frame is encoded once for each id. A stream that has nothing waiting gets the
/// frame at once; for every other the cue waits in its [`ServerStream`], which stays the one place of the protocol.
///
/// Whoever drives it knows which streams have room, writes what [`Fanout::publish`] answers and says who had none. After
/// anything else that it is told about a stream, it polls that stream while there is room.
#[derive(Debug, Default)]
pub struct Fanout {
    slots: Slots,
    stamps: Numbers<Stamp>,
    /// Equal filters are kept once.
    filters: Numbers<Arc<SubscriptionFilter>>,
    /// The slots of the streams, by what they honor.
    index: Index<u32>,
    chunks: Chunks,
    /// With the slots of the streams.
    deadlines: BTreeSet<(Millis, u32)>,
    /// Streams that are to be polled for what was published last.
    due: Vec<StreamId>,
    /// What was published last, and when.
    last: (Vec<ServerEvent>, Millis),
    tally: Option<Arc<Tally>>,
}

impl Fanout {
    /// Counts what happens in `tally`, from before the first stream on.
    pub fn count_in(&mut self, tally: Arc<Tally>) {
        self.tally = Some(tally);
    }

    /// Holds a stream. What is published from now on waits for it until [`Fanout::handle_attached`]; where it
    /// honors nothing there is nothing to wait for, and it ends at once.
    pub fn open(&mut self, mut stream: ServerStream, now: Millis) -> StreamId {
        if stream.honored().is_empty() {
            stream.handle_attached(now);
            stream.close();
        }
        if let Some(tally) = &self.tally {
            stream.count_in(tally.clone());
        }
        let group = self.stamps.enter(stream.stamp());
        let honored = self.keep(stream.shared_honored());
        stream.share(self.stamps.kept(&stream.stamp().clone()), &honored);
        let id = self.slots.insert(stream, group);
        self.enter(id, &honored);
        id
    }

    /// The caller of a stream has other audiences from now on.
    pub fn handle_scope(&mut self, id: StreamId, scope: Scope) {
        self.change(id, |stream| stream.scope_to(scope));
    }

    /// A stream honors another filter from now on; cues that it does not honor are dropped.
    pub fn handle_filter(&mut self, id: StreamId, honored: SubscriptionFilter) {
        self.change(id, |stream| stream.handle_filter(honored));
    }

    /// The bus has confirmed that events come: the acknowledgment may go out.
    pub fn handle_attached(&mut self, id: StreamId, now: Millis) {
        self.touch(id, |stream| stream.handle_attached(now));
    }

    /// Lets a stream go; the answer is why it ended, where it did.
    pub fn remove(&mut self, id: StreamId) -> Option<Ending> {
        let held = self.slots.remove(id)?;
        if let Some(at) = held.planned {
            self.deadlines.remove(&(at, id.slot()));
        }
        self.stamps.leave(held.stream.stamp());
        let ending = held.stream.ending();
        let honored = held.stream.shared_honored().clone();
        drop(held);
        self.leave(id, &honored, &SubscriptionFilter::default());
        self.filters.leave(&honored);
        ending
    }

    /// An event was published, at that moment of the clock of `now`. What the answer names is to be written at once; for
    /// streams that have no room for it, call [`Fanout::handle_missed`] before anything else.
    pub fn publish(&mut self, event: ServerEvent, published: Millis, now: Millis) -> Fan {
        let mut fan = Fan::default();
        let mut chunks = std::mem::take(&mut self.chunks);
        let mut frame = Frame::new(&event);
        chunks.forget();
        self.each_hearer((&event, 0), (published, now), &mut |group, id, stamp| {
            let chunk = chunks.get(group).unwrap_or_else(|| {
                chunks.push(group);
                frame.push(&mut fan.bytes, stamp);
                fan.end_chunk()
            });
            fan.writes.push((id, chunk));
        });
        self.chunks = chunks;
        self.last = (vec![event], published);
        fan
    }

    /// Several events were published, in this order: as [`Fanout::publish`], but each stream gets all that it hears of them
    /// in one chunk, one frame for each subject.
    pub fn publish_all(&mut self, events: Vec<ServerEvent>, published: Millis, now: Millis) -> Fan {
        let events = collapsed(events);
        let mut bundles = Bundles::new(self.slots.most());
        for (number, (event, repeats)) in events.iter().enumerate() {
            let mut frame = Frame::new(event);
            let times = (published, now);
            self.each_hearer((event, *repeats), times, &mut |group, id, stamp| {
                bundles.push(id.slot(), group, number, |bytes| frame.push(bytes, stamp));
            });
        }
        let events = events.into_iter().map(|(event, _)| event);
        self.last = (events.collect(), published);
        bundles.fan(|slot| self.id_at(slot))
    }

    /// These streams had no room for what the last publish answered: their cues wait.
    pub fn handle_missed(&mut self, streams: impl IntoIterator<Item = StreamId>, now: Millis) {
        let (events, published) = std::mem::take(&mut self.last);
        for id in streams {
            self.touch(id, |stream| {
                for event in &events {
                    stream.handle_unwritten(event, published, now);
                }
                stream.handle_blocked(now);
            });
        }
        self.last = (events, published);
    }

    /// The streams that what was published last is not written to and that are to be polled: they have ended, or whether they may
    /// still hear it has to be asked, as [`ServerStream::poll_question`] says.
    pub fn take_due(&mut self) -> Vec<StreamId> {
        std::mem::take(&mut self.due)
    }

    /// Events may have been missed: whatever each stream honors is cued once. The state of a task cannot be made
    /// up: such a stream ends without a result, so that its client comes back and reads it. Poll all streams.
    pub fn handle_gap(&mut self) {
        for held in self.slots.iter_mut() {
            held.stream.handle_loss();
        }
    }

    /// As [`Fanout::handle_gap`], for streams that are about to close: those of callers with a name end at once.
    pub fn handle_last_doubt(&mut self) {
        let streams = self.slots.iter_mut();
        streams.for_each(|held| held.stream.handle_last_doubt());
    }

    /// The next bytes of a stream, several frames at once where several wait; `None` until something is handled again.
    pub fn poll(&mut self, id: StreamId, now: Millis) -> Option<Vec<u8>> {
        let stream = &mut self.slots.get_mut(id)?.stream;
        let mut bytes = Vec::new();
        while bytes.len() < CHUNK_BYTES {
            match stream.poll_output(now) {
                Some(Output::Message(message)) => bytes.extend(sse::event(&message)),
                Some(Output::KeepAlive) => bytes.extend_from_slice(sse::KEEP_ALIVE),
                Some(Output::Opened | Output::End) | None => break,
            }
        }
        stream.rest();
        self.plan(id);
        (!bytes.is_empty()).then_some(bytes)
    }

    /// The moment of [`Fanout::poll_timeout`] has come; the answer names the streams that are to be polled.
    pub fn handle_timeout(&mut self, now: Millis) -> Vec<StreamId> {
        let mut due = Vec::new();
        while let Some((at, slot)) = self.deadlines.pop_first() {
            if at > now {
                self.deadlines.insert((at, slot));
                break;
            }
            let Some(held) = self.slots.at_mut(slot) else {
                continue;
            };
            let id = held.id;
            held.planned = None;
            if held.stream.poll_timeout().is_some_and(|at| at <= now) {
                held.stream.handle_timeout(now);
                due.push(id);
            }
            self.plan(id);
        }
        due
    }

    /// When to call [`Fanout::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Does something to a stream, such as ending it; poll it afterwards. Nothing happens where it is gone.
    pub fn tend(&mut self, id: StreamId, action: impl FnOnce(&mut Tended<'_>)) {
        self.touch(id, |stream| action(&mut Tended::new(stream)));
    }

    /// One of the streams.
    pub fn stream(&self, id: StreamId) -> Option<&ServerStream> {
        Some(&self.slots.get(id)?.stream)
    }

    /// The id of the stream that has a slot now.
    pub fn id_at(&self, slot: u32) -> Option<StreamId> {
        Some(self.slots.at(slot)?.id)
    }

    /// As [`ServerStream::poll_question`], of one of the streams.
    pub fn poll_question(&mut self, id: StreamId) -> Option<Arc<SubscriptionFilter>> {
        self.slots.get_mut(id)?.stream.poll_question()
    }

    /// How many streams are held.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no stream is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each stream that hears the event and can be written to; for every other that hears it the cue waits.
    fn each_hearer(
        &mut self,
        (event, repeats): (&ServerEvent, usize),
        (published, now): (Millis, Millis),
        hear: &mut dyn FnMut(u32, StreamId, &Stamp),
    ) {
        let mut waiting = Vec::new();
        let mut told = 0;
        for slot in self.index.matching(event) {
            let Some(held) = self.slots.at_mut(slot) else {
                continue;
            };
            let id = held.id;
            if let ServerEvent::Revoked { .. } = event {
                held.stream.handle_event_of(event, published);
                self.due.extend(held.stream.is_ending().then_some(id));
                continue;
            }
            held.stream.count_repeats(repeats);
            if held.stream.handle_written(now) {
                told += 1;
                hear(held.group, id, held.stream.stamp());
                continue;
            }
            let was_idle = held.stream.pending_cues() == 0;
            held.stream.handle_event_of(event, published);
            // It may have room, and nobody has been asked yet whether it may be told.
            if held.stream.is_withheld(now) && was_idle {
                self.due.push(id);
            } else {
                held.stream.handle_blocked(now);
            }
            waiting.push(id);
        }
        if let Some(tally) = &self.tally {
            tally.count_told(told, now - published);
        }
        for id in waiting {
            self.plan(id);
        }
    }

    /// Does something that may move a deadline of a stream, but not change what it honors: the index would not know.
    pub(crate) fn touch(&mut self, id: StreamId, action: impl FnOnce(&mut ServerStream)) {
        if let Some(held) = self.slots.get_mut(id) {
            action(&mut held.stream);
            self.plan(id);
        }
    }

    /// Lists a stream under what it honors.
    fn enter(&mut self, id: StreamId, honored: &SubscriptionFilter) {
        for topic in honored.topics() {
            self.index.insert(id.slot(), topic);
        }
    }

    /// Takes a stream off the lists of what it honored, but for what it honors now.
    fn leave(&mut self, id: StreamId, honored: &SubscriptionFilter, now: &SubscriptionFilter) {
        let stays: Topics = now.topics().into_iter().collect();
        for topic in honored.topics() {
            if !stays.contains(&topic) {
                self.index.remove(id.slot(), &topic);
            }
        }
    }

    /// Of equal filters the one that all streams keep; [`Numbers::leave`] once the stream has another one.
    fn keep(&mut self, honored: &Arc<SubscriptionFilter>) -> Arc<SubscriptionFilter> {
        self.filters.enter(honored);
        self.filters.kept(honored).clone()
    }

    /// Changes what a stream honors, and the index with it.
    fn change(&mut self, id: StreamId, change: impl FnOnce(&mut ServerStream)) {
        let Some(held) = self.slots.get_mut(id) else {
            return;
        };
        let former = held.stream.shared_honored().clone();
        change(&mut held.stream);
        let stamp = held.stream.stamp().clone();
        let honored = held.stream.shared_honored().clone();
        let kept = self.keep(&honored);
        if let Some(held) = self.slots.get_mut(id) {
            held.stream.share(self.stamps.kept(&stamp), &kept);
        }
        self.leave(id, &former, &kept);
        self.enter(id, &kept);
        self.filters.leave(&former);
        self.plan(id);
    }

    /// Deadlines mostly move further away: an entry that comes too early finds that out by itself.
    fn plan(&mut self, id: StreamId) {
        let Some(held) = self.slots.get_mut(id) else {
            return;
        };
        let Some(at) = held.stream.poll_timeout() else {
            return;
        };
        if held.planned.is_some_and(|planned| planned <= at) {
            return;
        }
        if let Some(former) = held.planned.replace(at) {
            self.deadlines.remove(&(former, id.slot()));
        }
        self.deadlines.insert((at, id.slot()));
    }
}

/// One event for each subject: the latest, in the place of the first, and how often there was another one.
fn collapsed(events: Vec<ServerEvent>) -> Vec<(ServerEvent, usize)> {
    let mut places = Map::default();
    let mut latest: Vec<(ServerEvent, usize)> = Vec::new();
    for event in events {
        let subject = Topic::subject_of(&event);
        let place = places.get(&subject).copied();
        if let Some((former, repeats)) = place.and_then(|place| latest.get_mut(place)) {
            *former = event;
            *repeats += 1;
        } else {
            places.insert(subject, latest.len());
            latest.push((event, 0));
        }
    }
    latest
}

/// A write of about this size is worth its cost; what waits beyond it may still collapse.
const CHUNK_BYTES: usize = 16_384;
