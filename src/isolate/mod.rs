//! The isolate: the streams that share one connection to a bus.

mod opening;
mod output;
mod session;
mod waiting_streams;

use alloc::vec::Vec;
use alloc::{collections::VecDeque, sync::Arc};

use crate::{
    clock::Millis,
    fanout::{Fanout, Published, StreamId},
    lease::{Budget, Lease, LeaseOutput},
    listen::{EndReason, ServerStream},
    upstream::{OutageCounts, Timeouts, Update, Upstream, UpstreamCall},
    vocabulary::{
        event::ServerEvent,
        filter::SubscriptionFilter,
        position::{Cursor, Position},
        topic::Topic,
    },
    wire::ProtocolError,
};

use output::{EventBatch, IsolateStep};
use session::StreamSession;
use waiting_streams::WaitingStreams;

pub use crate::upstream::SessionStart;
pub use output::{IsolateOutput, MovedStream};

/// The streams of one isolate on one connection to their bus. The isolate subscribes to the union
/// of their topics, receives each event once and fans it out. Its lease decides which request owns
/// the connection. A stream with its own connection is the only one of its isolate.
///
/// Recovers what is lost between the bus and here. If that is not possible, the streams cue
/// everything that they honor.
///
/// After each call of [`Isolate::open`], [`Isolate::remove`] and `handle_*`, and when
/// [`Isolate::poll_timeout`] says, call [`Isolate::handle_timeout`], then poll
/// [`Isolate::poll_call`] and [`Isolate::poll_output`] until they return `None`. Drive the streams
/// as [`Fanout`] describes, through [`Isolate::fanout`]. If each stream has a request that may own
/// the connection, drive the lease as [`Lease`] describes, through [`Isolate::lease`], but poll it
/// with [`Isolate::poll_lease`].
#[derive(Debug)]
pub struct Isolate {
    upstream: Upstream,
    fanout: Fanout,
    lease: Lease<StreamId>,
    /// Streams that wait for the bus to confirm their topics.
    waiting: WaitingStreams,
    /// The session, if this isolate holds the stream of one.
    session: Option<StreamSession>,
    steps: VecDeque<IsolateStep>,
    /// The offset of the Unix clock from the clock of all calls.
    epoch: Millis,
}

impl Isolate {
    /// Creates an isolate without streams. `epoch` is the offset of the Unix clock from the clock
    /// of the other calls.
    pub fn new(timeouts: Timeouts, epoch: Millis) -> Self {
        Self {
            upstream: Upstream::new(timeouts),
            fanout: Fanout::default(),
            lease: Lease::new(Budget::default()),
            waiting: WaitingStreams::default(),
            session: None,
            steps: VecDeque::new(),
            epoch,
        }
    }

    /// Returns the streams, to be driven. Change their filters and whether they are paused through
    /// the isolate.
    pub fn fanout(&mut self) -> &mut Fanout {
        &mut self.fanout
    }

    /// Returns the streams.
    pub fn streams(&self) -> &Fanout {
        &self.fanout
    }

    /// Returns one of the streams.
    pub fn stream(&self, id: StreamId) -> Option<&ServerStream> {
        self.fanout.stream(id)
    }

    /// Returns the lease of the connection. Every stream is a member.
    pub fn lease(&mut self) -> &mut Lease<StreamId> {
        &mut self.lease
    }

    /// Sets the timeouts for its bus.
    pub fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.upstream.set_timeouts(timeouts);
    }

    /// Ends a stream gracefully. Events that may have been missed while the bus is unavailable
    /// count as pending, unless `is_settled`: see [`Isolate::settle`].
    pub fn close(&mut self, id: StreamId, is_settled: bool) {
        let is_certain = is_settled || self.upstream.is_certain();
        self.fanout.touch(id, |stream| {
            if stream.is_open() && !is_certain {
                stream.handle_loss_at_close();
            }
            stream.close();
        });
    }

    /// Removes a stream; returns why it ended, if it did.
    pub fn remove(&mut self, id: StreamId) -> Option<EndReason> {
        self.waiting.remove(id);
        let honored = self.honored(id)?;
        let ending = self.fanout.remove(id);
        self.lease.leave(id);
        self.end_session(id);
        self.release(&honored.topics());
        ending
    }

    /// Handles a frame of the bus.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame has to be dropped.
    pub fn handle_message(&mut self, text: &str, now: Millis) -> Result<(), ProtocolError> {
        let index = self.fanout.index();
        let handled = self.upstream.handle_message(text, now, index);
        match handled? {
            Update::Nothing => {}
            Update::Confirmed { is_whole, filter } => {
                if let Some(filter) = filter {
                    self.set_session_filter(filter);
                }
                if self.confirm_session(is_whole) {
                    return Ok(());
                }
                if !is_whole {
                    self.resync();
                }
                self.serve_waiting();
            }
            Update::Refused(topics) => self.remove_refused(&topics),
            Update::SessionInterest(filter) => self.set_session_filter(filter),
            Update::Events { at, events } => {
                for (position, event) in events {
                    if self.delivers(&event, at, now) {
                        self.receive(position, at, event);
                    }
                }
            }
        }
        Ok(())
    }

    /// Handles a connection that was lost or could not be opened; `random` is drawn from [0, 1).
    /// Open streams stay. Waiting streams are refused if the bus was already unavailable or is
    /// overloaded. Otherwise they wait for one more attempt, because a connection that ends with
    /// the request that owned it may look the same.
    pub fn handle_lost(&mut self, now: Millis, random: f64, is_overloaded: bool) {
        let is_news = self.upstream.handle_lost(now, random, is_overloaded);
        if !is_news {
            self.refuse_waiting();
        }
    }

    /// Handles a move: a shard holds the streams from now on. Waiting streams keep waiting.
    pub fn handle_redirected(&mut self, now: Millis, random: f64) {
        self.upstream.handle_redirected(now, random);
    }

    /// Handles the end of a connection together with the request that owned it: calls for another
    /// one, at once if streams wait.
    pub fn handle_moved(&mut self, now: Millis) {
        self.upstream.handle_moved(now);
        if !self.waiting.is_empty() {
            self.upstream.retry_now(now);
        }
    }

    /// Handles a refusal of the connection for lack of room: until the bus reports room, no further
    /// streams fit here. If the refusals continue, the open streams are moved to their own
    /// connections, where each has a small reserved room.
    pub fn handle_full(&mut self) {
        if self.upstream.handle_full() && self.fanout.len() > 1 {
            for id in self.open_streams() {
                self.move_out(id);
            }
        }
    }

    /// Handles the timeouts that are due. `random` is drawn from [0, 1). The streams have separate
    /// deadlines.
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        let index = self.fanout.index();
        self.upstream.handle_timeout(now, random, index);
    }

    /// Returns when to call [`Isolate::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        if self.upstream.is_idle(self.fanout.index()) {
            return None;
        }
        self.upstream.poll_timeout()
    }

    /// Returns the next call to the bus, or `None` until something is handled again.
    pub fn poll_call(&mut self, now: Millis) -> Option<UpstreamCall> {
        self.handle_lease(now);
        let call = self.upstream.poll_call(now, self.fanout.index());
        if call.is_some() {
            self.handle_asked();
        }
        call
    }

    /// Returns the next output of the lease, or `None` until something is handled again. `random`
    /// is drawn from [0, 1). Poll it after [`Isolate::poll_output`] and after a stream was removed.
    pub fn poll_lease(&mut self, now: Millis, random: f64) -> Option<LeaseOutput<StreamId>> {
        let output = self.lease.poll_output(now, random);
        self.handle_lease(now);
        output
    }

    /// Requests from the bus everything published before this call: see [`Isolate::is_settled`].
    pub fn settle(&mut self, now: Millis) {
        self.upstream.settle(now);
    }

    /// Whether everything published before [`Isolate::settle`] was received and passed to the
    /// streams.
    pub fn is_settled(&self) -> bool {
        // If a request has to yield, the next owner handles the rest.
        self.upstream.is_settled() && !self.has_output() && !self.lease.must_yield()
    }

    /// Whether the bus was lost and has not confirmed since.
    pub fn is_away(&self) -> bool {
        self.upstream.is_away()
    }

    /// Returns the cursor up to which the streams have received every event; `None` before the bus
    /// has confirmed.
    pub fn cursor(&self) -> Option<&Cursor> {
        self.upstream.cursor()
    }

    /// Returns the counters of outages and gaps.
    pub fn counts(&self) -> OutageCounts {
        self.upstream.counts()
    }

    /// Returns the bytes of the names of all its topics, each counted once, which the bus stores
    /// for it.
    pub fn name_bytes(&self) -> usize {
        self.fanout.index().name_bytes()
    }

    /// Handles the end of a lease, which ends its connection.
    fn handle_lease(&mut self, now: Millis) {
        if self.lease.take_moved() {
            self.handle_moved(now);
        }
    }

    /// Handles an unrecoverable gap: each open stream is resynced.
    fn resync(&mut self) {
        self.steps.push_back(IsolateStep::Gap);
    }

    fn receive(&mut self, position: Position, at: Option<Millis>, event: ServerEvent) {
        let published = Published {
            event,
            at: at.map(|at| at - self.epoch),
            position: Some(position),
            repeats: 0,
        };
        let bytes = Topic::of(&published.event).name_bytes();
        let delivered = self.delivered();
        match self.steps.back_mut() {
            Some(IsolateStep::Events(batch)) if batch.bytes + bytes <= MAX_BYTES => {
                batch.bytes += bytes;
                batch.events.push(published);
                batch.delivered = delivered;
            }
            _ => self.steps.push_back(IsolateStep::Events(EventBatch {
                events: vec![published],
                bytes,
                delivered,
            })),
        }
    }

    /// Removes the streams that want a refused topic; the others stay.
    fn remove_refused(&mut self, refused: &[Topic]) {
        for slot in self.fanout.index().followers(refused) {
            let Some(id) = self.fanout.id_at(slot) else {
                continue;
            };
            if self.waiting.contains(id) {
                self.refuse(id, true);
            } else {
                self.move_out(id);
            }
        }
    }

    /// Returns the streams that are attached or about to be.
    fn open_streams(&self) -> Vec<StreamId> {
        let ids = self.fanout.ids().into_iter();
        ids.filter(|id| !self.waiting.contains(*id)).collect()
    }

    fn honored(&self, id: StreamId) -> Option<Arc<SubscriptionFilter>> {
        Some(self.fanout.stream(id)?.shared_honored().clone())
    }

    fn release<'t>(&mut self, topics: impl IntoIterator<Item = &'t Topic>) {
        self.upstream.release(topics, self.fanout.index());
    }
}

/// Maximum bytes of the names of events that are fanned out together: each stream is written all of
/// its events among them at once.
const MAX_BYTES: usize = 16_384;
