//! Fan-out within one process: takes one event, returns the bytes for every stream that wants it.

mod bundles;
mod chunks;
mod fan;
mod frame;
mod numbers;
mod published;
mod publishing;
mod resume;
mod slots;
mod tended;

use alloc::vec::Vec;
use alloc::{collections::BTreeSet, sync::Arc};

use crate::{
    bus::Mark,
    clock::Millis,
    listen::{Ending, Next, Output, ServerStream, Stamp},
    vocabulary::{
        filter::SubscriptionFilter,
        position::Position,
        scope::Scope,
        topic::{Index, Topics},
    },
};

use chunks::Chunks;
use slots::Slots;

pub use fan::Fan;
pub(crate) use numbers::Numbers;
pub use published::Published;
pub use slots::StreamId;
pub use tended::Tended;

/// All subscriptions that one process holds over HTTP on one bus.
///
/// The cost of a publish depends on the streams that match, not on those connected: an index maps
/// an event to its streams, which are grouped by subscription id, and the frame is encoded once per
/// id. A stream without pending output gets the frame at once; for every other stream the cue is
/// pending in its [`ServerStream`], which alone implements the protocol.
///
/// The driver tracks which streams have room, writes what [`Fanout::publish`] returns, and reports
/// the streams that had no room. After every other call that concerns a stream, it polls that
/// stream while there is room.
#[derive(Debug, Default)]
pub struct Fanout {
    slots: Slots,
    stamps: Numbers<Stamp>,
    /// Equal filters are stored once.
    filters: Numbers<Arc<SubscriptionFilter>>,
    /// The slots of the streams, by the topics that they honor.
    index: Index<u32>,
    chunks: Chunks,
    /// Deadlines with the slots of their streams.
    deadlines: BTreeSet<(Millis, u32)>,
    /// Streams to poll because of the last publish.
    due: Vec<StreamId>,
    /// The events of the last publish.
    last: Vec<Published>,
}

impl Fanout {
    /// Adds a stream. Events that are published from now on are held for it until
    /// [`Fanout::handle_attached`]. A stream that honors nothing ends at once.
    pub fn open(&mut self, mut stream: ServerStream, now: Millis) -> StreamId {
        if stream.honored().is_empty() {
            stream.handle_attached(now);
            stream.close();
        }
        self.hold(stream, Position::default())
    }

    /// As [`Fanout::open`], for a driver that writes another format than server-sent events: the
    /// stream never gets a frame from a publish. [`Fanout::take_due`] names it if it has received
    /// an event, and [`Fanout::poll_output`] returns its output.
    pub fn open_polled(&mut self, stream: ServerStream, now: Millis) -> StreamId {
        let id = self.open(stream, now);
        if let Some(held) = self.slots.get_mut(id) {
            held.is_polled = true;
        }
        id
    }

    /// Adds a stream that receives no events until [`Fanout::handle_attached_from`], except
    /// disconnects.
    pub(crate) fn open_waiting(&mut self, stream: ServerStream) -> StreamId {
        self.hold(stream, NEVER)
    }

    fn hold(&mut self, mut stream: ServerStream, from: Position) -> StreamId {
        let group = self.stamps.enter(stream.stamp());
        let honored = self.keep(stream.shared_honored());
        stream.share(self.stamps.kept(&stream.stamp().clone()), &honored);
        let id = self.slots.insert(stream, group, from);
        self.enter(id, &honored);
        self.plan(id);
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
        if let Some(held) = self.slots.get_mut(id) {
            held.from = from;
        }
        self.handle_attached(id, now);
    }

    /// Removes a stream. Returns why it ended; `None` if it had not.
    pub fn remove(&mut self, id: StreamId) -> Option<Ending> {
        self.take(id)?.ending()
    }

    /// Removes a stream, for another holder.
    pub(crate) fn take(&mut self, id: StreamId) -> Option<ServerStream> {
        let held = self.slots.remove(id)?;
        if let Some(at) = held.planned {
            self.deadlines.remove(&(at, id.slot()));
        }
        self.stamps.leave(held.stream.stamp());
        let honored = held.stream.shared_honored().clone();
        self.leave(id, &honored, &SubscriptionFilter::default());
        self.filters.leave(&honored);
        Some(held.stream)
    }

    /// Handles the loss of events: cues once everything that each stream honors. The state of a
    /// task cannot be reconstructed, so a stream that honors tasks ends without a result, and its
    /// client comes back and reads it. Poll all streams afterwards.
    pub fn handle_gap(&mut self) {
        for held in self.slots.iter_mut() {
            // A stream that is not registered yet has missed nothing.
            if !held.stream.is_opening() {
                held.from = Position::default();
                held.stream.handle_loss();
            }
        }
    }

    /// As [`Fanout::handle_gap`], for one stream that may have missed events before it was
    /// registered.
    pub(crate) fn handle_loss(&mut self, id: StreamId) {
        if let Some(held) = self.slots.get_mut(id) {
            held.from = Position::default();
        }
        self.touch(id, ServerStream::handle_loss);
    }

    /// Records the mark up to which the stream of a session was given every event. Its event ids
    /// tell the client this mark.
    pub(crate) fn handle_given(&mut self, id: StreamId, mark: Option<Mark>) {
        if let Some(held) = self.slots.get_mut(id) {
            // A stream that ends accepts no more events, so its ids must not claim that it did.
            let takes = held.stream.is_opening() || held.stream.is_open();
            held.is_polled = true;
            let resume = held.resume.get_or_insert_default();
            if takes {
                resume.handle_given(mark);
            }
        }
    }

    /// As [`Fanout::handle_gap`], for streams that are about to close: those of named callers end
    /// at once.
    pub fn handle_last_doubt(&mut self) {
        let streams = self.slots.iter_mut();
        streams.for_each(|held| held.stream.handle_last_doubt());
    }

    /// Returns the next bytes of a stream, with several frames at once if several are pending;
    /// `None` until another `handle_*` call or publish.
    pub fn poll(&mut self, id: StreamId, now: Millis) -> Option<Vec<u8>> {
        let held = self.slots.get_mut(id)?;
        let mut bytes = Vec::new();
        while bytes.len() < CHUNK_BYTES {
            let output = held.stream.poll_output(now);
            let frame = output.and_then(|output| match &mut held.resume {
                Some(resume) => resume.frame(&held.stream, output),
                None => resume::frame(output),
            });
            let Some(frame) = frame else { break };
            bytes.extend(frame);
        }
        held.stream.rest();
        self.plan(id);
        (!bytes.is_empty()).then_some(bytes)
    }

    /// As [`ServerStream::poll_output`], for one of the streams.
    pub fn poll_output(&mut self, id: StreamId, now: Millis) -> Option<Output> {
        self.slots.get_mut(id)?.stream.poll_output(now)
    }

    /// As [`ServerStream::poll_next`], for one of the streams.
    pub fn poll_next(&mut self, id: StreamId, now: Millis) -> Option<Next> {
        self.slots.get_mut(id)?.stream.poll_next(now)
    }

    /// Handles the deadline of [`Fanout::poll_timeout`]. Returns the streams to poll.
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

    /// Returns when to call [`Fanout::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Applies an action to a stream, such as ending it; poll it afterwards. Does nothing if the
    /// stream is gone.
    pub fn tend(&mut self, id: StreamId, action: impl FnOnce(&mut Tended<'_>)) {
        self.touch(id, |stream| action(&mut Tended::new(stream)));
    }

    /// Returns one of the streams.
    pub fn stream(&self, id: StreamId) -> Option<&ServerStream> {
        Some(&self.slots.get(id)?.stream)
    }

    /// Returns the id of the stream that currently has a slot.
    pub fn id_at(&self, slot: u32) -> Option<StreamId> {
        Some(self.slots.at(slot)?.id)
    }

    /// As [`ServerStream::poll_question`], for one of the streams.
    pub fn poll_question(&mut self, id: StreamId) -> Option<Arc<SubscriptionFilter>> {
        self.slots.get_mut(id)?.stream.poll_question()
    }

    /// Returns the index of topics to slots.
    pub(crate) fn index(&self) -> &Index<u32> {
        &self.index
    }

    /// Returns the ids of all streams.
    pub(crate) fn ids(&self) -> Vec<StreamId> {
        self.slots.iter().map(|held| held.id).collect()
    }

    /// Returns the number of streams held.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no stream is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Applies an action that may move a deadline of a stream. It must not change what the stream
    /// honors, which would leave the index stale.
    pub(crate) fn touch(&mut self, id: StreamId, action: impl FnOnce(&mut ServerStream)) {
        if let Some(held) = self.slots.get_mut(id) {
            action(&mut held.stream);
            self.plan(id);
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

    /// Returns the shared copy of a filter; call [`Numbers::leave`] once the stream has another
    /// one.
    fn keep(&mut self, honored: &Arc<SubscriptionFilter>) -> Arc<SubscriptionFilter> {
        self.filters.enter(honored);
        self.filters.kept(honored).clone()
    }

    /// Changes what a stream honors, and updates the index.
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

    /// Schedules the deadline of a stream. Deadlines mostly move later, so an entry that fires
    /// early is rescheduled instead.
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

/// The size in bytes at which a write is worth its cost; cues beyond it may still collapse.
const CHUNK_BYTES: usize = 16_384;
/// A position after every event of a log.
const NEVER: Position = Position(u64::MAX);
