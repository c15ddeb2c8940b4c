//! Fan-out within one process: one event in, the bytes for every stream that wants it out.

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
    tally::Tally,
    vocabulary::{
        filter::SubscriptionFilter,
        position::Position,
        scope::Scope,
        topic::{Index, Topics},
    },
};

use chunks::Chunks;
use numbers::Numbers;
use slots::Slots;

pub use fan::Fan;
pub use published::Published;
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
    /// What was published last.
    last: Vec<Published>,
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
        self.hold(stream, Position::default())
    }

    /// As [`Fanout::open`], for who writes something else than server-sent events: the stream is never written to at once.
    /// [`Fanout::take_due`] names it where it hears something, and [`Fanout::poll_output`] says what.
    pub fn open_polled(&mut self, stream: ServerStream, now: Millis) -> StreamId {
        let id = self.open(stream, now);
        if let Some(held) = self.slots.get_mut(id) {
            held.is_polled = true;
        }
        id
    }

    /// Holds a stream for which nothing waits until [`Fanout::handle_attached_from`]; but who is revoked meanwhile is.
    pub(crate) fn open_waiting(&mut self, stream: ServerStream) -> StreamId {
        self.hold(stream, NEVER)
    }

    fn hold(&mut self, mut stream: ServerStream, from: Position) -> StreamId {
        if let Some(tally) = &self.tally {
            stream.count_in(tally.clone());
        }
        let group = self.stamps.enter(stream.stamp());
        let honored = self.keep(stream.shared_honored());
        stream.share(self.stamps.kept(&stream.stamp().clone()), &honored);
        let id = self.slots.insert(stream, group, from);
        self.enter(id, &honored);
        self.plan(id);
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

    /// The bus has confirmed that events come, and the log had come that far: what stands behind that is for the stream.
    pub(crate) fn handle_attached_from(&mut self, id: StreamId, from: Position, now: Millis) {
        if let Some(held) = self.slots.get_mut(id) {
            held.from = from;
        }
        self.handle_attached(id, now);
    }

    /// Lets a stream go; the answer is why it ended, where it did.
    pub fn remove(&mut self, id: StreamId) -> Option<Ending> {
        self.take(id)?.ending()
    }

    /// Lets a stream go, for somebody else to hold it.
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

    /// Events may have been missed: whatever each stream honors is cued once. The state of a task cannot be made
    /// up: such a stream ends without a result, so that its client comes back and reads it. Poll all streams.
    pub fn handle_gap(&mut self) {
        for held in self.slots.iter_mut() {
            // A stream that is not registered yet has missed nothing.
            if !held.stream.is_opening() {
                held.from = Position::default();
                held.stream.handle_loss();
            }
        }
    }

    /// As [`Fanout::handle_gap`], of one stream that may have missed something before it was registered.
    pub(crate) fn handle_loss(&mut self, id: StreamId) {
        if let Some(held) = self.slots.get_mut(id) {
            held.from = Position::default();
        }
        self.touch(id, ServerStream::handle_loss);
    }

    /// The stream of a session tells with each event up to where it was given everything: up to here from now on.
    pub(crate) fn handle_given(&mut self, id: StreamId, mark: Option<Mark>) {
        if let Some(held) = self.slots.get_mut(id) {
            // What ends takes nothing in any more, and must not say that it was given it.
            let takes = held.stream.is_opening() || held.stream.is_open();
            held.is_polled = true;
            let resume = held.resume.get_or_insert_default();
            if takes {
                resume.handle_given(mark);
            }
        }
    }

    /// As [`Fanout::handle_gap`], for streams that are about to close: those of callers with a name end at once.
    pub fn handle_last_doubt(&mut self) {
        let streams = self.slots.iter_mut();
        streams.for_each(|held| held.stream.handle_last_doubt());
    }

    /// The next bytes of a stream, several frames at once where several wait; `None` until something is handled again.
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

    /// As [`ServerStream::poll_output`], of one of the streams.
    pub fn poll_output(&mut self, id: StreamId, now: Millis) -> Option<Output> {
        self.slots.get_mut(id)?.stream.poll_output(now)
    }

    /// As [`ServerStream::poll_next`], of one of the streams.
    pub fn poll_next(&mut self, id: StreamId, now: Millis) -> Option<Next> {
        self.slots.get_mut(id)?.stream.poll_next(now)
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

    /// What they want, by their slots.
    pub(crate) fn index(&self) -> &Index<u32> {
        &self.index
    }

    /// All streams.
    pub(crate) fn ids(&self) -> Vec<StreamId> {
        self.slots.iter().map(|held| held.id).collect()
    }

    /// How many streams are held.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no stream is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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

/// A write of about this size is worth its cost; what waits beyond it may still collapse.
const CHUNK_BYTES: usize = 16_384;
/// The place in no log: nothing stands behind it.
const NEVER: Position = Position(u64::MAX);
