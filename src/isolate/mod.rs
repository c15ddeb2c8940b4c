//! The isolate: the streams that share one connection to a bus.

mod holding;
mod opening;
mod output;
mod scope;
mod session;

use alloc::vec::Vec;
use alloc::{collections::VecDeque, sync::Arc};

use crate::{
    clock::Millis,
    fanout::{Fanout, Published, StreamId},
    lease::{Budget, Lease},
    listen::{Ending, ServerStream},
    upstream::{Counts, News, Patience, Upstream, UpstreamCall},
    vocabulary::{
        event::ServerEvent,
        filter::SubscriptionFilter,
        position::{Mark, Position},
        topic::Topic,
    },
    wire::ProtocolError,
};

use output::{Batch, Step};
use session::Session;

pub use output::{IsolateOutput, Parted};
pub use session::Joining;

/// The streams of one isolate on one connection to their bus: what all of them want together is asked of the bus, and each event is
/// heard once and fanned out. Whose request has the connection is up to its lease. A stream whose connection is its own is alone in an isolate.
///
/// What gets lost between the bus and here is made up for; where nobody can tell what that was, the streams cue
/// everything that they honor.
///
/// After each call of [`Isolate::open`], [`Isolate::remove`] and `handle_*`, and when [`Isolate::poll_timeout`] says, call
/// [`Isolate::handle_timeout`], then poll [`Isolate::poll_call`] and [`Isolate::poll_output`] until there is none. The
/// streams themselves are driven as [`Fanout`] says, by way of [`Isolate::fanout`]; where each has a request that may have the connection,
/// the lease as [`Lease`] says, by way of [`Isolate::lease`], but polled with [`Isolate::poll_lease`].
#[derive(Debug)]
pub struct Isolate {
    upstream: Upstream,
    fanout: Fanout,
    lease: Lease<StreamId>,
    /// Streams that wait for the bus to confirm what they want.
    waiting: Vec<StreamId>,
    /// Where the one stream is that of a session.
    session: Option<Session>,
    steps: VecDeque<Step>,
    /// By how much the clock of 1970 is ahead of the one that is told here.
    epoch: Millis,
}

impl Isolate {
    /// An isolate without streams. `epoch` is by how much the clock of 1970 is ahead of the one of the other calls.
    pub fn new(patience: Patience, epoch: Millis) -> Self {
        Self {
            upstream: Upstream::new(patience),
            fanout: Fanout::default(),
            lease: Lease::new(Budget::default()),
            waiting: Vec::new(),
            session: None,
            steps: VecDeque::new(),
            epoch,
        }
    }

    /// The streams, to be read and driven. What they honor, and whether they are held, changes by way of the isolate.
    pub fn fanout(&mut self) -> &mut Fanout {
        &mut self.fanout
    }

    /// The streams, to be read.
    pub fn streams(&self) -> &Fanout {
        &self.fanout
    }

    /// One of the streams.
    pub fn stream(&self, id: StreamId) -> Option<&ServerStream> {
        self.fanout.stream(id)
    }

    /// How patient it is with its bus.
    pub fn set_patience(&mut self, patience: Patience) {
        self.upstream.set_patience(patience);
    }

    /// Ends a stream gracefully. What may have been missed while the bus is away counts as what waits, unless `is_settled`: see
    /// [`Isolate::settle`].
    pub fn close(&mut self, id: StreamId, is_settled: bool) {
        let is_certain = is_settled || self.upstream.is_certain();
        self.fanout.touch(id, |stream| {
            if stream.is_open() && !is_certain {
                stream.handle_last_doubt();
            }
            stream.close();
        });
    }

    /// Lets a stream go; the answer is why it ended, where it did.
    pub fn remove(&mut self, id: StreamId) -> Option<Ending> {
        self.waiting.retain(|waiting| *waiting != id);
        let honored = self.honored(id)?;
        let ending = self.fanout.remove(id);
        self.lease.leave(id);
        self.end_session(id);
        self.release(&honored.topics());
        ending
    }

    /// A frame came from the bus.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped.
    pub fn handle_message(&mut self, text: &str, now: Millis) -> Result<(), ProtocolError> {
        let index = self.fanout.index();
        let handled = self.upstream.handle_message(text, now, index);
        match handled? {
            News::Nothing => {}
            News::Confirmed { is_whole, watched } => {
                if let Some(watching) = watched {
                    self.watch(watching);
                }
                if self.confirm_session(is_whole) {
                    return Ok(());
                }
                if !is_whole {
                    self.resync();
                }
                self.serve_waiting();
            }
            News::Refused(topics) => self.lack(&topics),
            News::Watched(watching) => self.watch(watching),
            News::Events { at, events } => {
                for (position, event) in events {
                    if self.tells(&event, at, now) {
                        self.hear(position, at, event);
                    }
                }
            }
        }
        Ok(())
    }

    /// The connection is gone, or could not be made; `random` is drawn from [0, 1). Streams that are open stay. Those that wait
    /// are refused where the bus was away already, or is overloaded; otherwise they wait for one more attempt, for a
    /// connection that ends with the request that held it may look just the same.
    pub fn handle_lost(&mut self, now: Millis, random: f64, is_overloaded: bool) {
        let is_news = self.upstream.handle_lost(now, random, is_overloaded);
        if !is_news {
            self.refuse_waiting();
        }
    }

    /// The bus let the connection go: a shard has the streams from now on. Those that wait go on waiting.
    pub fn handle_sent_on(&mut self, now: Millis, random: f64) {
        self.upstream.handle_sent_on(now, random);
    }

    /// The connection went away with the request that held it: another one is called for, and at once where streams wait.
    pub fn handle_moved(&mut self, now: Millis) {
        self.upstream.handle_moved(now);
        if !self.waiting.is_empty() {
            self.upstream.handle_wish(now);
        }
    }

    /// The bus has refused the connection for want of room: until it tells of some, further streams have none here.
    /// Where it goes on refusing, the open streams are parted with: one by one they find the small room that each has.
    pub fn handle_full(&mut self) {
        if self.upstream.handle_full() && self.fanout.len() > 1 {
            for id in self.open_streams() {
                self.part(id);
            }
        }
    }

    /// The moment of [`Isolate::poll_timeout`] has come. `random` is drawn from [0, 1). The streams have deadlines of their own.
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        let index = self.fanout.index();
        self.upstream.handle_timeout(now, random, index);
    }

    /// When to call [`Isolate::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        if self.upstream.is_idle(self.fanout.index()) {
            return None;
        }
        self.upstream.poll_timeout()
    }

    /// What is to be done about the bus, or `None` until something is handled again.
    pub fn poll_call(&mut self, now: Millis) -> Option<UpstreamCall> {
        self.handle_lease(now);
        let call = self.upstream.poll_call(now, self.fanout.index());
        if call.is_some() {
            self.handle_asked();
        }
        call
    }

    /// Whether everything comes that the streams were told is theirs, as far as is known.
    pub fn is_certain(&self) -> bool {
        self.upstream.is_certain()
    }

    /// Asks the bus for everything published before this call: see [`Isolate::is_settled`].
    pub fn settle(&mut self, now: Millis) {
        self.upstream.settle(now);
    }

    /// Whether everything that was published before [`Isolate::settle`] has been received, and given to the streams.
    pub fn is_settled(&self) -> bool {
        // Where a request must yield, the next one sees to the rest.
        self.upstream.is_settled() && !self.has_output() && !self.lease.must_yield()
    }

    /// Whether the bus was lost, and has not confirmed again yet.
    pub fn is_away(&self) -> bool {
        self.upstream.is_away()
    }

    /// Up to where in the log the streams have received all; `None` before the bus has confirmed.
    pub fn mark(&self) -> Option<&Mark> {
        self.upstream.mark()
    }

    /// How often the bus had to be followed anew.
    pub fn counts(&self) -> Counts {
        self.upstream.counts()
    }

    /// Bytes that the names of all that its streams want count, each name once: a bus keeps so much for it.
    pub fn names(&self) -> usize {
        self.fanout.index().names()
    }

    /// Bytes that they may count, as far as is known.
    pub fn room(&self) -> usize {
        self.upstream.room()
    }

    /// How many times a topic of a stream was entered or taken out so far.
    pub fn operations(&self) -> u64 {
        self.fanout.index().operations()
    }

    /// Nobody knows what was missed: each open stream cues everything that it honors.
    fn resync(&mut self) {
        self.steps.push_back(Step::Gap);
    }

    fn hear(&mut self, position: Position, at: Option<Millis>, event: ServerEvent) {
        let published = Published {
            event,
            at: at.map(|at| at - self.epoch),
            position: Some(position),
        };
        let bytes = Topic::of(&published.event).names();
        let given = self.given();
        match self.steps.back_mut() {
            Some(Step::Events(batch)) if batch.bytes + bytes <= MAX_BYTES => {
                batch.bytes += bytes;
                batch.events.push(published);
                batch.given = given;
            }
            _ => self.steps.push_back(Step::Events(Batch {
                events: vec![published],
                bytes,
                given,
            })),
        }
    }

    /// The streams that lack what was refused have to go; the others go on.
    fn lack(&mut self, refused: &[Topic]) {
        let lacks = |honored: &SubscriptionFilter| {
            let topics = honored.topics();
            let mut topics = topics.iter().map(Topic::followed);
            topics.any(|topic| refused.contains(&topic))
        };
        for id in self.fanout.ids() {
            if self.honored(id).is_some_and(|honored| lacks(&honored)) {
                if self.waiting.contains(&id) {
                    self.refuse(id, true);
                } else {
                    self.part(id);
                }
            }
        }
    }

    /// The streams that were told that they are attached, or are about to be.
    fn open_streams(&self) -> Vec<StreamId> {
        let ids = self.fanout.ids().into_iter();
        ids.filter(|id| !self.waiting.contains(id)).collect()
    }

    fn honored(&self, id: StreamId) -> Option<Arc<SubscriptionFilter>> {
        Some(self.fanout.stream(id)?.shared_honored().clone())
    }

    fn release<'t>(&mut self, topics: impl IntoIterator<Item = &'t Topic>) {
        self.upstream.release(topics, self.fanout.index());
    }
}

/// Bytes that the names of events count which are fanned out together: each stream is written all that it hears of them at once.
const MAX_BYTES: usize = 16_384;
