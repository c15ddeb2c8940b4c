//! Fan-out within one process: takes one event, returns the bytes for every stream that wants it.

mod batch_tree;
mod chunk_cache;
mod frame;
mod interner;
mod published;
mod publishing;
mod readers;
mod resume;
mod slab;
mod stream_mut;
mod write_batch;

use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};
use core::num::NonZeroU32;

use crate::{
    clock::Millis,
    listen::{EndReason, Next, ServerStream, StreamKind, StreamOutput},
    vocabulary::{
        filter::SubscriptionFilter,
        position::{Cursor, Position},
        scope::Scope,
        topic::{Index, Topic, Topics},
    },
};

use published::LastPublish;
use readers::Readers;
use slab::StreamEntry;

pub(crate) use chunk_cache::ChunkCache;
pub(crate) use interner::Interner;
pub use published::Published;
pub use slab::StreamId;
pub(crate) use slab::{Identified, Slab};
pub use stream_mut::StreamMut;
pub use write_batch::WriteBatch;

/// All subscriptions that one process holds over HTTP on one bus.
///
/// The cost of a publish depends on the streams that match, not on those connected: an index maps
/// an event to its streams, which are grouped by subscription id, and the frame is encoded once per
/// id. A stream without pending output gets the frame at once; for every other stream the cue is
/// pending in its [`ServerStream`], which alone implements the protocol.
///
/// The driver tracks which streams have room, because only it sees a reader: a call for each read
/// would cost more than the few that have no room. It writes what [`Fanout::publish`] returns, and
/// reports the streams that had no room. After every other call that concerns a stream, it polls
/// that stream while there is room.
#[derive(Debug, Default)]
pub struct Fanout {
    slab: Slab<StreamEntry>,
    kinds: Interner<StreamKind>,
    /// Equal filters are stored once.
    filters: Interner<Arc<SubscriptionFilter>>,
    /// The slots of the streams, by the topics that they honor.
    index: Index<u32>,
    chunks: ChunkCache,
    /// Deadlines with the slots of their streams.
    deadlines: BTreeSet<(Millis, u32)>,
    /// A publish passes over the streams whose reader it has reached.
    readers: Readers,
    /// Streams to poll because of the last publish.
    due: Vec<StreamId>,
    /// The events of the last publish.
    last: LastPublish,
    /// What the next publish of several events uses to group them: a zero for each slot.
    places: Vec<usize>,
}

impl Fanout {
    /// Adds a stream. Events that are published from now on are queued for it until
    /// [`Fanout::handle_attached`]. A stream that honors nothing ends at once.
    pub fn open(&mut self, mut stream: ServerStream, now: Millis) -> StreamId {
        if stream.honored().is_empty() {
            stream.handle_attached(now);
            stream.close();
        }
        self.insert(stream, Position::default())
    }

    /// As [`Fanout::open`], for a driver that writes another format than server-sent events: the
    /// stream never gets a frame from a publish. [`Fanout::take_due`] names it if it has received
    /// an event, and [`Fanout::poll_output`] returns its output.
    pub fn open_polled(&mut self, stream: ServerStream, now: Millis) -> StreamId {
        let id = self.open(stream, now);
        if let Some(entry) = self.slab.get_mut(id) {
            entry.is_polled = true;
        }
        id
    }

    /// Adds a stream that receives no events until [`Fanout::handle_attached_from`], except
    /// disconnects.
    pub(crate) fn open_waiting(&mut self, stream: ServerStream) -> StreamId {
        self.insert(stream, NEVER)
    }

    fn insert(&mut self, mut stream: ServerStream, from: Position) -> StreamId {
        let kind_number = self.kinds.intern(stream.kind());
        let honored = self.intern(stream.shared_honored());
        stream.intern(self.kinds.interned(&stream.kind().clone()), &honored);
        let reader = stream.reader();
        let entry = |id| StreamEntry::new(id, stream, kind_number, from);
        let id = self.slab.insert(entry);
        self.readers.set(id.slot(), reader);
        self.enter(id, &honored);
        self.reschedule(id);
        id
    }

    /// Changes the groups of a stream's caller.
    pub fn handle_scope(&mut self, id: StreamId, scope: Scope) {
        self.change(id, |stream| stream.scope_to(scope));
    }

    /// Changes the filter that a stream honors, and drops the cues that the new filter does not
    /// honor.
    pub fn handle_filter(&mut self, id: StreamId, honored: SubscriptionFilter) {
        self.change(id, |stream| stream.handle_filter(honored));
    }

    /// Handles the bus's confirmation of the registration: the acknowledgment may be sent.
    pub fn handle_attached(&mut self, id: StreamId, now: Millis) {
        self.touch(id, |stream| stream.handle_attached(now));
    }

    /// As [`Fanout::handle_attached`], with the position of the log at the registration: the stream
    /// receives the events after it.
    pub(crate) fn handle_attached_from(&mut self, id: StreamId, from: Position, now: Millis) {
        if let Some(entry) = self.slab.get_mut(id) {
            entry.from = from;
        }
        self.handle_attached(id, now);
    }

    /// Removes a stream. Returns why it ended; `None` if it had not.
    pub fn remove(&mut self, id: StreamId) -> Option<EndReason> {
        self.take(id)?.end_reason()
    }

    /// Removes a stream, for another holder.
    pub(crate) fn take(&mut self, id: StreamId) -> Option<ServerStream> {
        let entry = self.slab.remove(id)?;
        if let Some(at) = entry.scheduled {
            self.deadlines.remove(&(at, id.slot()));
        }
        self.kinds.release(entry.stream.kind());
        let honored = entry.stream.shared_honored().clone();
        self.leave(id, &honored, &SubscriptionFilter::default());
        self.filters.release(&honored);
        Some(entry.stream)
    }

    /// Handles the loss of events: cues once everything that each stream honors. The state of a
    /// task cannot be reconstructed, so a stream that honors tasks ends without a result, and its
    /// client comes back and reads it. Poll all streams afterwards.
    pub fn handle_gap(&mut self) {
        for entry in self.slab.iter_mut() {
            // A stream that is not registered yet has missed nothing.
            if !entry.stream.is_opening() {
                entry.from = Position::default();
                entry.stream.handle_loss();
            }
        }
    }

    /// As [`Fanout::handle_gap`], for one stream that may have missed events before it was
    /// registered.
    pub(crate) fn handle_loss(&mut self, id: StreamId) {
        if let Some(entry) = self.slab.get_mut(id) {
            entry.from = Position::default();
        }
        self.touch(id, ServerStream::handle_loss);
    }

    /// Records the cursor up to which every event was delivered to the stream of a session. The ids
    /// of its events contain this cursor.
    pub(crate) fn handle_delivered(&mut self, id: StreamId, cursor: Option<Cursor>) {
        if let Some(entry) = self.slab.get_mut(id) {
            // A stream that ends accepts no more events, so its ids must not claim that it did.
            let takes = entry.stream.is_opening() || entry.stream.is_open();
            entry.is_polled = true;
            let resume = entry.resume.get_or_insert_default();
            if takes {
                resume.handle_delivered(cursor);
            }
        }
    }

    /// As [`Fanout::handle_gap`], for streams that are about to close: those of named callers end
    /// at once.
    pub fn handle_loss_at_close(&mut self) {
        let streams = self.slab.iter_mut();
        streams.for_each(|entry| entry.stream.handle_loss_at_close());
    }

    /// Returns the next bytes of a stream, with several frames at once if several are pending;
    /// `None` until another `handle_*` call or publish.
    pub fn poll(&mut self, id: StreamId, now: Millis) -> Option<Vec<u8>> {
        let entry = self.slab.get_mut(id)?;
        let mut bytes = Vec::new();
        while bytes.len() < CHUNK_BYTES {
            let output = entry.stream.poll_output(now);
            let frame = output.and_then(|output| match &mut entry.resume {
                Some(resume) => resume.frame(&entry.stream, output),
                None => resume::frame(output),
            });
            let Some(frame) = frame else { break };
            bytes.extend(frame);
        }
        entry.stream.release_queue();
        self.reschedule(id);
        (!bytes.is_empty()).then_some(bytes)
    }

    /// As [`ServerStream::poll_output`], for one of the streams.
    pub fn poll_output(&mut self, id: StreamId, now: Millis) -> Option<StreamOutput> {
        self.slab.get_mut(id)?.stream.poll_output(now)
    }

    /// As [`ServerStream::poll_next`], for one of the streams.
    pub fn poll_next(&mut self, id: StreamId, now: Millis) -> Option<Next> {
        self.slab.get_mut(id)?.stream.poll_next(now)
    }

    /// Handles the deadline of [`Fanout::poll_timeout`]. Returns the streams to poll.
    pub fn handle_timeout(&mut self, now: Millis) -> Vec<StreamId> {
        let mut due = Vec::new();
        while let Some((at, slot)) = self.deadlines.pop_first() {
            if at > now {
                self.deadlines.insert((at, slot));
                break;
            }
            let Some(entry) = self.slab.at_mut(slot) else {
                continue;
            };
            let id = entry.id;
            entry.scheduled = None;
            if entry.stream.poll_timeout().is_some_and(|at| at <= now) {
                entry.stream.handle_timeout(now);
                due.push(id);
            }
            self.reschedule(id);
        }
        due
    }

    /// Returns when to call [`Fanout::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// As [`ServerStream::read_by`], for one of the streams.
    pub fn read_by(&mut self, id: StreamId, reader: NonZeroU32) {
        if let Some(entry) = self.slab.get_mut(id) {
            entry.stream.read_by(reader);
            self.readers.set(id.slot(), Some(reader));
        }
    }

    /// As [`ServerStream::may_send`], for one of the streams; false if it is gone.
    pub fn may_send(&mut self, id: StreamId, now: Millis) -> bool {
        let entry = self.slab.get_mut(id);
        entry.is_some_and(|entry| entry.stream.may_send(now))
    }

    /// Applies an action to a stream, such as ending it; poll it afterwards. Does nothing if the
    /// stream is gone.
    pub fn with_stream(&mut self, id: StreamId, action: impl FnOnce(&mut StreamMut<'_>)) {
        self.touch(id, |stream| action(&mut StreamMut::new(stream)));
    }

    /// Returns one of the streams.
    pub fn stream(&self, id: StreamId) -> Option<&ServerStream> {
        Some(&self.slab.get(id)?.stream)
    }

    /// Returns the id of the stream that currently has a slot.
    pub fn id_at(&self, slot: u32) -> Option<StreamId> {
        Some(self.slab.at(slot)?.id)
    }

    /// As [`ServerStream::poll_question`], for one of the streams.
    pub fn poll_question(&mut self, id: StreamId) -> Option<Arc<SubscriptionFilter>> {
        self.slab.get_mut(id)?.stream.poll_question()
    }

    /// Returns the index of topics to slots.
    pub(crate) fn index(&self) -> &Index<u32> {
        &self.index
    }

    /// Returns the `max` topics with the most streams, and the number of streams of each, largest
    /// first. Omits principals and groups unless `has_callers`. Visits every topic.
    pub fn listeners(&self, max: usize, has_callers: bool) -> Vec<(&Topic, u32)> {
        let mut largest: Vec<(&Topic, u32)> = Vec::new();
        for (topic, streams) in self.index.counts() {
            if has_callers || !topic.is_of_callers() {
                let at = largest.partition_point(|(_, other)| *other >= streams);
                largest.insert(at, (topic, streams));
                largest.truncate(max);
            }
        }
        largest
    }

    /// Returns the ids of all streams.
    pub(crate) fn ids(&self) -> Vec<StreamId> {
        self.slab.iter().map(|entry| entry.id).collect()
    }

    /// Returns the number of streams.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether there are no streams.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Applies an action that may move a deadline of a stream. It must not change what the stream
    /// honors, which would leave the index stale.
    pub(crate) fn touch(&mut self, id: StreamId, action: impl FnOnce(&mut ServerStream)) {
        if let Some(entry) = self.slab.get_mut(id) {
            action(&mut entry.stream);
            self.reschedule(id);
        }
    }

    /// Enters a stream under the topics that it honors.
    fn enter(&mut self, id: StreamId, honored: &SubscriptionFilter) {
        for topic in honored.topics() {
            self.index.insert(id.slot(), topic);
        }
    }

    /// Removes a stream from the topics that it honored, except those that it honors now.
    fn leave(&mut self, id: StreamId, honored: &SubscriptionFilter, now: &SubscriptionFilter) {
        let stays: Topics = now.topics().into_iter().collect();
        for topic in honored.topics() {
            if !stays.contains(&topic) {
                self.index.remove(id.slot(), &topic);
            }
        }
    }

    /// Returns the shared copy of a filter; call [`Interner::release`] once the stream has another
    /// one.
    fn intern(&mut self, honored: &Arc<SubscriptionFilter>) -> Arc<SubscriptionFilter> {
        self.filters.intern(honored);
        self.filters.interned(honored).clone()
    }

    /// Changes what a stream honors, and updates the index.
    fn change(&mut self, id: StreamId, change: impl FnOnce(&mut ServerStream)) {
        let Some(entry) = self.slab.get_mut(id) else {
            return;
        };
        let former = entry.stream.shared_honored().clone();
        change(&mut entry.stream);
        let kind = entry.stream.kind().clone();
        let honored = entry.stream.shared_honored().clone();
        let interned = self.intern(&honored);
        if let Some(entry) = self.slab.get_mut(id) {
            entry.stream.intern(self.kinds.interned(&kind), &interned);
        }
        self.leave(id, &former, &interned);
        self.enter(id, &interned);
        self.filters.release(&former);
        self.reschedule(id);
    }

    /// Schedules the deadline of a stream. Deadlines mostly move later, so an entry that fires
    /// early is rescheduled instead.
    fn reschedule(&mut self, id: StreamId) {
        let Some(entry) = self.slab.get_mut(id) else {
            return;
        };
        let Some(at) = entry.stream.poll_timeout() else {
            return;
        };
        if entry.scheduled.is_some_and(|scheduled| scheduled <= at) {
            return;
        }
        if let Some(former) = entry.scheduled.replace(at) {
            self.deadlines.remove(&(former, id.slot()));
        }
        self.deadlines.insert((at, id.slot()));
    }
}

/// The size in bytes at which a write is worth its cost; cues beyond it may still collapse.
const CHUNK_BYTES: usize = 16_384;
/// A position after every event of a log.
const NEVER: Position = Position(u64::MAX);
