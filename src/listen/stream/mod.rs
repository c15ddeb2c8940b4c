mod cues;
mod ending;
mod fanned;
mod grant;
mod keep_alive;
mod loss;
mod output;
mod settings;
mod stamp;

use alloc::{boxed::Box, sync::Arc};

use crate::{
    clock::Millis,
    tally::Tally,
    vocabulary::{
        event::ServerEvent, filter::SubscriptionFilter, id::RequestId, position::Position,
    },
};

use self::{ending::Lifetime, grant::Grant, keep_alive::KeepAlive};

pub(crate) use cues::{Cues, Since};
pub use ending::Ending;
pub use output::{Next, Output};
pub use stamp::Stamp;

/// The server's side of one stream of notifications, from registration to its end.
///
/// Feed it with the `handle_*` methods; after each, and whenever the transport has
/// room, call [`ServerStream::poll_output`] until it answers `None`. Call
/// [`ServerStream::handle_timeout`] when [`ServerStream::poll_timeout`] says.
/// What is not polled stays collapsed: one cue a topic. Where the transport has no room, say so with
/// [`ServerStream::handle_blocked`]: a reader that takes nothing for too long is given up.
#[derive(Debug)]
pub struct ServerStream {
    pub(crate) stamp: Stamp,
    pub(crate) honored: Arc<SubscriptionFilter>,
    pub(crate) server_info: Option<Arc<str>>,
    pub(crate) is_held: bool,
    pub(crate) state: State,
    /// Made when something first waits: most streams are idle most of the time.
    pub(crate) cues: Option<Box<Cues>>,
    pub(crate) keep_alive: KeepAlive,
    pub(crate) lifetime: Lifetime,
    /// What its caller was allowed, where that does not hold for ever.
    pub(crate) grant: Option<Box<Grant>>,
    ending: Option<Ending>,
    pub(crate) is_frozen: bool,
    pub(crate) tally: Option<Arc<Tally>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not yet registered with the bus: events are kept, nothing may be written.
    Opening,
    /// Registered. The acknowledgment goes out before anything else.
    Open {
        is_acknowledged: bool,
    },
    /// What is pending goes out, then the end; a graceful one with the result.
    Draining {
        is_acknowledged: bool,
        is_graceful: bool,
    },
    /// Everything is written, or given up; the end has yet to be told.
    Ending,
    Closed,
}

impl ServerStream {
    /// The stream of a subscription that waits for its registration; `keep_alive` is a `Duration` or [`Millis`], of which zero
    /// means no keep-alives.
    pub fn new(
        id: RequestId,
        honored: SubscriptionFilter,
        keep_alive: impl Into<Millis>,
        now: Millis,
    ) -> Self {
        Self::with_stamp(Stamp::Subscription(id), honored, keep_alive, now)
    }

    /// A stream with any stamp; otherwise as [`ServerStream::new`].
    pub fn with_stamp(
        stamp: Stamp,
        honored: SubscriptionFilter,
        keep_alive: impl Into<Millis>,
        now: Millis,
    ) -> Self {
        Self {
            stamp,
            cues: None,
            honored: Arc::new(honored),
            server_info: None,
            is_held: false,
            state: State::Opening,
            keep_alive: KeepAlive::new(keep_alive.into(), now),
            lifetime: Lifetime::default(),
            grant: None,
            ending: None,
            is_frozen: false,
            tally: None,
        }
    }

    /// Names the server in the result that ends the stream; `server_info` is compact JSON.
    #[must_use]
    pub fn with_server_info(mut self, server_info: Option<Arc<str>>) -> Self {
        self.server_info = server_info;
        self
    }

    /// The bus has confirmed the registration: the acknowledgment may go out.
    pub fn handle_attached(&mut self, now: Millis) {
        if self.state == State::Opening {
            self.keep_alive.handle_written(now);
            self.state = State::Open {
                is_acknowledged: false,
            };
        }
    }

    /// The bus delivered an event; what the filter does not honor is ignored.
    pub fn handle_event(&mut self, event: &ServerEvent) {
        self.push(event, Since::default());
    }

    /// The bus delivered the event at `position` of its log, see [`ServerStream::covered`], which was published at that
    /// moment, where that is known.
    pub fn handle_event_at(
        &mut self,
        event: &ServerEvent,
        position: Position,
        published: Option<Millis>,
    ) {
        let position = Some(position);
        self.push(event, Since::new(position, published));
    }

    /// From now on the filter is another one; cues that it does not honor are dropped.
    pub fn handle_filter(&mut self, honored: SubscriptionFilter) {
        if let Some(cues) = &mut self.cues {
            cues.retain(|event| honored.accepts(event));
        }
        self.honored = Arc::new(honored);
        // What the reader was waited for may be gone.
        if !self.has_output() {
            self.lifetime.handle_taken();
        }
    }

    /// The transport has no room. Where something waits for it, the time of a stalled reader begins; what
    /// is polled ends it.
    pub fn handle_blocked(&mut self, now: Millis) {
        if self.has_output() {
            self.lifetime.handle_blocked(now);
        }
    }

    /// While a stream is held it says that it is open and gives signs of life, and nothing else; cues wait.
    pub fn handle_hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Whether it is held.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// The moment of [`ServerStream::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Millis) {
        if self.is_open() {
            self.keep_alive.handle_timeout(now);
        }
        if self.lifetime.is_stalled(now) {
            self.abort_for(Ending::Stalled);
        }
        if self.lifetime.has_expired(now) {
            self.abort_for(Ending::Expired);
        }
        if let Some(why) = self.lifetime.take_retirement(now) {
            self.retire(why);
        }
    }

    /// Ends the stream without a result: pending cues go out, then it breaks off, and its client comes back.
    pub fn retire(&mut self, why: Ending) {
        self.drain(why);
    }

    /// Ends the stream at once and without a result, as a drop: a client then comes back.
    pub fn abort(&mut self) {
        self.abort_for(Ending::Aborted);
    }

    /// The next thing to write, or `None` until something is handled again.
    pub fn poll_output(&mut self, now: Millis) -> Option<Output> {
        let next = self.poll_next(now)?;
        Some(self.encode(&next))
    }

    /// As [`ServerStream::poll_output`], for who writes messages of its own.
    pub fn poll_next(&mut self, now: Millis) -> Option<Next> {
        let next = match self.state {
            State::Opening | State::Closed => return None,
            State::Ending => {
                self.state = State::Closed;
                return Some(Next::End);
            }
            State::Open { is_acknowledged } => {
                self.state = State::Open {
                    is_acknowledged: true,
                };
                self.pending(is_acknowledged, now)
                    .or_else(|| self.keep_alive.is_due().then_some(Next::KeepAlive))?
            }
            State::Draining {
                is_acknowledged,
                is_graceful,
            } => {
                self.state = State::Draining {
                    is_acknowledged: true,
                    is_graceful,
                };
                match self.pending(is_acknowledged, now) {
                    Some(pending) => pending,
                    None if self.is_asking() => return None,
                    None => self.last(is_graceful),
                }
            }
        };
        self.lifetime.handle_taken();
        self.keep_alive.handle_written(now);
        Some(next)
    }

    /// When to call [`ServerStream::handle_timeout`]; `None` while there is nothing to do by time.
    pub fn poll_timeout(&self) -> Option<Millis> {
        if self.is_ending() || self.is_opening() {
            return None;
        }
        let keep_alive = self.keep_alive.deadline().filter(|_| self.is_open());
        let deadlines = [keep_alive, self.lifetime.deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// The position up to which everything has been polled, where `latest` is that of the last
    /// event handled; `None` while a cue waits whose position is not known.
    pub fn covered(&self, latest: Position) -> Option<Position> {
        let cues = self.cues.as_ref();
        cues.map_or(Some(latest), |cues| cues.covered(latest))
    }

    /// What the messages carry.
    pub fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// The honored filter.
    pub fn honored(&self) -> &SubscriptionFilter {
        &self.honored
    }

    /// How many cues wait; never more than the filter has topics.
    pub fn pending_cues(&self) -> usize {
        self.cues.as_ref().map_or(0, |cues| cues.len())
    }

    /// Whether the registration is still awaited.
    pub fn is_opening(&self) -> bool {
        self.state == State::Opening
    }

    /// Why the stream ends or ended; `None` while it goes on.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Whether the stream goes on: it was registered, and is not closing.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }

    /// Whether there is nothing more to write but the end.
    pub fn is_ending(&self) -> bool {
        matches!(self.state, State::Ending | State::Closed)
    }

    fn pending(&mut self, is_acknowledged: bool, now: Millis) -> Option<Next> {
        if !is_acknowledged {
            return Some(Next::Acknowledged);
        }
        if self.is_held || self.withhold(now) {
            return None;
        }
        let (event, since) = self.cues.as_mut()?.pop()?;
        if let Some(tally) = &self.tally {
            tally.count_frame(since.published.map(|published| now - published));
        }
        Some(Next::Changed(event))
    }

    /// The result where there is one to send, and otherwise the end.
    fn last(&mut self, is_graceful: bool) -> Next {
        if is_graceful && self.stamp.is_subscription() {
            self.state = State::Ending;
            return Next::Result;
        }
        self.state = State::Closed;
        Next::End
    }

    fn encode(&self, next: &Next) -> Output {
        let message = match next {
            Next::Acknowledged => self.stamp.acknowledgment(&self.honored),
            Next::Changed(event) => Some(self.stamp.notification(event)),
            Next::Result => self.stamp.result(self.server_info.as_deref()),
            Next::KeepAlive => return Output::KeepAlive,
            Next::End => return Output::End,
        };
        message.map_or(Output::Opened, Output::Message)
    }

    /// What waits goes out, then the end.
    pub(crate) fn drain(&mut self, why: Ending) {
        match self.state {
            State::Opening => self.abort_for(why),
            State::Open { is_acknowledged } => {
                self.ending = Some(why);
                self.state = State::Draining {
                    is_acknowledged,
                    is_graceful: why == Ending::Closed,
                };
            }
            State::Draining { .. } | State::Ending | State::Closed => {}
        }
    }

    pub(crate) fn abort_for(&mut self, why: Ending) {
        self.cues = None;
        if !self.is_ending() {
            self.ending = Some(why);
            self.state = State::Ending;
        }
    }

    fn has_output(&self) -> bool {
        match self.state {
            State::Opening | State::Closed => false,
            State::Open { is_acknowledged } => {
                let is_cued = self.pending_cues() > 0 && !self.is_held && !self.is_asking();
                !is_acknowledged || self.keep_alive.is_due() || is_cued
            }
            State::Draining { .. } | State::Ending => true,
        }
    }

    pub(crate) fn push(&mut self, event: &ServerEvent, since: Since) {
        if let ServerEvent::Revoked { principal } = event {
            return self.handle_revoked(principal);
        }
        if event.audience().is_some() && !self.honored.accepts(event) {
            return;
        }
        let pushed = self.cue(event.change(), since);
        if let (Some(tally), Some(is_collapsed)) = (&self.tally, pushed) {
            tally.count_event(is_collapsed);
        }
    }

    /// Returns whether a cue for the same topic was pending; `None` where the event is not queued.
    pub(crate) fn cue(&mut self, event: &ServerEvent, since: Since) -> Option<bool> {
        let is_open = matches!(self.state, State::Opening | State::Open { .. });
        if !is_open || !self.honored.accepts(event) {
            return None;
        }
        Some(self.cues.get_or_insert_default().push(event, since))
    }
}
