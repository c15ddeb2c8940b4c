mod cues;
mod end_reason;
mod fanned;
mod grant;
mod keep_alive;
mod lifetime;
mod output;
mod pending_cues;
mod state;
mod stream_kind;

use alloc::{boxed::Box, sync::Arc};
use core::num::NonZeroU32;

use crate::{
    clock::Millis,
    metrics::Metrics,
    vocabulary::{
        event::ServerEvent, filter::SubscriptionFilter, id::RequestId, position::Position,
    },
};

use self::{
    grant::Grant, keep_alive::KeepAlive, lifetime::Lifetime, pending_cues::PendingCues,
    state::StreamState,
};

pub(crate) use cues::{Cues, Since};
pub use end_reason::EndReason;
pub use output::{Next, StreamOutput};
pub use stream_kind::StreamKind;

/// The server side of one stream of notifications, from registration to its end.
///
/// Pass input to the `handle_*` methods; after each call, and whenever the transport has room, call
/// [`ServerStream::poll_output`] until it returns `None`. Call [`ServerStream::handle_timeout`] at
/// the time of [`ServerStream::poll_timeout`]. Output that is not polled stays collapsed, with one
/// cue per topic. If the transport has no room, call [`ServerStream::handle_blocked`]: a stream
/// whose client reads nothing for too long ends.
#[derive(Debug)]
pub struct ServerStream {
    kind: StreamKind,
    honored: Arc<SubscriptionFilter>,
    server_info: Option<Arc<str>>,
    is_paused: bool,
    state: StreamState,
    cues: PendingCues,
    keep_alive: KeepAlive,
    lifetime: Lifetime,
    /// The authorization of the caller, if it is limited in time.
    grant: Option<Box<Grant>>,
    end_reason: Option<EndReason>,
    /// The reader of its output in this process, if there is one: see [`ServerStream::read_by`].
    reader: Option<NonZeroU32>,
    is_frozen: bool,
}

impl ServerStream {
    /// Creates the stream of a subscription that is not registered yet. `keep_alive` is the
    /// interval of keep-alives, as a `Duration` or [`Millis`]; zero disables them.
    pub fn new(
        id: RequestId,
        honored: SubscriptionFilter,
        keep_alive: impl Into<Millis>,
        now: Millis,
    ) -> Self {
        Self::with_kind(StreamKind::Listen(id), honored, keep_alive, now)
    }

    /// Creates a stream with any kind; otherwise as [`ServerStream::new`].
    pub fn with_kind(
        kind: StreamKind,
        honored: SubscriptionFilter,
        keep_alive: impl Into<Millis>,
        now: Millis,
    ) -> Self {
        Self {
            kind,
            cues: PendingCues::default(),
            honored: Arc::new(honored),
            server_info: None,
            is_paused: false,
            state: StreamState::Opening,
            keep_alive: KeepAlive::new(keep_alive.into(), now),
            lifetime: Lifetime::default(),
            grant: None,
            end_reason: None,
            reader: None,
            is_frozen: false,
        }
    }

    /// Names the server in the result that ends the stream; `server_info` is compact JSON.
    #[must_use]
    pub fn with_server_info(mut self, server_info: Option<Arc<str>>) -> Self {
        self.server_info = server_info;
        self
    }

    /// Says that this process reads the output itself. A publish writes each event only to the
    /// first of several streams in a row with the same reader: the others would repeat it.
    pub fn read_by(&mut self, reader: NonZeroU32) {
        self.reader = Some(reader);
    }

    /// Counts events and notifications in `metrics`.
    pub fn count_in(&mut self, metrics: Arc<Metrics>) {
        self.cues.count_in(metrics);
    }

    /// Ends the stream if its client reads nothing for `span` while output is pending. Zero
    /// disables it.
    pub fn stall_after(&mut self, span: impl Into<Millis>) {
        self.lifetime.stall_after(span.into());
    }

    /// Schedules a retirement, see [`ServerStream::retire`]; of several times the earliest applies.
    pub fn retire_at(&mut self, at: Millis, why: EndReason) {
        self.lifetime.retire_at(at, why);
    }

    /// Ends the stream at this time, at once and without a result, dropping pending output: nothing
    /// may be sent to a caller whose credentials have expired.
    pub fn expire_at(&mut self, at: Millis) {
        self.lifetime.expire_at(at);
    }

    /// Cancels [`ServerStream::expire_at`].
    pub fn never_expire(&mut self) {
        self.lifetime.never_expire();
    }

    /// Handles the bus's confirmation of the registration: the acknowledgment may be sent.
    pub fn handle_attached(&mut self, now: Millis) {
        if self.state == StreamState::Opening {
            self.keep_alive.handle_written(now);
            self.state = StreamState::Open {
                is_acknowledged: false,
            };
        }
    }

    /// Handles an event from the bus; ignores it if the filter does not honor it.
    pub fn handle_event(&mut self, event: &ServerEvent) {
        self.push(event, Since::default());
    }

    /// Handles the event at `position` of the log of the bus, see [`ServerStream::covered`].
    /// `published` is when it was published, if that is known.
    pub fn handle_event_at(
        &mut self,
        event: &ServerEvent,
        position: Position,
        published: Option<Millis>,
    ) {
        let position = Some(position);
        self.push(event, Since::new(position, published));
    }

    /// Replaces the filter, and drops the cues that the new one does not honor.
    pub fn handle_filter(&mut self, honored: SubscriptionFilter) {
        self.cues.retain(|event| honored.accepts(event));
        self.honored = Arc::new(honored);
        // The output that the client was slow to read may be gone.
        if !self.has_output() {
            self.lifetime.handle_polled();
        }
    }

    /// Handles a transport without room. If output is pending, the stall timer starts; polling an
    /// output stops it.
    pub fn handle_blocked(&mut self, now: Millis) {
        if self.has_output() {
            self.lifetime.handle_blocked(now);
        }
    }

    /// Pauses or resumes the stream. A paused stream sends its acknowledgment and keep-alives, but
    /// holds cues.
    pub fn set_paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Handles the deadline of [`ServerStream::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Millis) {
        if self.is_open() {
            self.keep_alive.handle_timeout(now);
        }
        if self.lifetime.is_stalled(now) {
            self.abort_for(EndReason::Stalled);
        }
        if self.lifetime.has_expired(now) {
            self.abort_for(EndReason::Expired);
        }
        if let Some(why) = self.lifetime.take_retirement(now) {
            self.retire(why);
        }
    }

    /// Ends the stream gracefully: pending cues are sent, then the result of the listen request. A
    /// stream that was never registered just ends, and one that already ends without a result
    /// continues to do so. Write all remaining output at once: see [`ServerStream::is_frozen`].
    pub fn close(&mut self) {
        self.is_frozen = true;
        self.drain(EndReason::Closed);
    }

    /// Whether the host has to write all remaining output at once, regardless of room: the stream
    /// was closed, so nothing is added any more, and the client can read it later.
    pub fn is_frozen(&self) -> bool {
        self.is_frozen
    }

    /// Ends the stream without a result: pending cues are sent, then the stream breaks off, and its
    /// client comes back.
    pub fn retire(&mut self, why: EndReason) {
        self.drain(why);
    }

    /// Ends the stream at once and without a result, as a drop: the client then comes back.
    pub fn abort(&mut self) {
        self.abort_for(EndReason::Aborted);
    }

    /// Returns the next output to write, or `None` until the next `handle_*` call.
    pub fn poll_output(&mut self, now: Millis) -> Option<StreamOutput> {
        let next = self.poll_next(now)?;
        Some(next.encode(&self.kind, &self.honored, self.server_info.as_deref()))
    }

    /// As [`ServerStream::poll_output`], for a caller that encodes the messages.
    pub fn poll_next(&mut self, now: Millis) -> Option<Next> {
        let next = match self.state {
            StreamState::Opening | StreamState::Closed => return None,
            StreamState::Ending => {
                self.state = StreamState::Closed;
                return Some(Next::End);
            }
            StreamState::Open { is_acknowledged } => {
                self.state = StreamState::Open {
                    is_acknowledged: true,
                };
                self.pending(is_acknowledged, now)
                    .or_else(|| self.keep_alive.is_due().then_some(Next::KeepAlive))?
            }
            StreamState::Draining {
                is_acknowledged,
                is_graceful,
            } => {
                self.state = StreamState::Draining {
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
        self.lifetime.handle_polled();
        match next {
            Next::KeepAlive => self.keep_alive.handle_written(now),
            _ => self.handle_sent(now),
        }
        Some(next)
    }

    /// Returns when to call [`ServerStream::handle_timeout`]; `None` if no deadline is set.
    pub fn poll_timeout(&self) -> Option<Millis> {
        if self.is_ending() || self.is_opening() {
            return None;
        }
        let keep_alive = self.keep_alive.deadline().filter(|_| self.is_open());
        let deadlines = [keep_alive, self.lifetime.deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// Returns the position up to which everything has been polled, where `latest` is that of the
    /// last event handled; `None` while a cue of unknown position is pending.
    pub fn covered(&self, latest: Position) -> Option<Position> {
        self.cues.covered(latest)
    }

    /// Returns the kind.
    pub fn kind(&self) -> &StreamKind {
        &self.kind
    }

    /// Returns the honored filter.
    pub fn honored(&self) -> &SubscriptionFilter {
        &self.honored
    }

    /// Returns the number of pending cues; never more than the filter has topics.
    pub fn pending_cues(&self) -> usize {
        self.cues.len()
    }

    /// Whether the registration is pending.
    pub fn is_opening(&self) -> bool {
        self.state == StreamState::Opening
    }

    /// Returns why the stream ends or ended; `None` while it is open.
    pub fn end_reason(&self) -> Option<EndReason> {
        self.end_reason
    }

    /// Whether the stream is open: it was registered, and is not closing.
    pub fn is_open(&self) -> bool {
        matches!(self.state, StreamState::Open { .. })
    }

    /// Whether nothing is left to write but the end.
    pub fn is_ending(&self) -> bool {
        matches!(self.state, StreamState::Ending | StreamState::Closed)
    }

    fn pending(&mut self, is_acknowledged: bool, now: Millis) -> Option<Next> {
        if !is_acknowledged {
            return Some(Next::Acknowledged);
        }
        if self.is_paused || self.withhold(now) {
            return None;
        }
        self.cues.pop(now).map(Next::Changed)
    }

    /// Returns the result if there is one to send, and otherwise the end.
    fn last(&mut self, is_graceful: bool) -> Next {
        if is_graceful && self.kind.is_listen() {
            self.state = StreamState::Ending;
            return Next::Result;
        }
        self.state = StreamState::Closed;
        Next::End
    }

    /// Ends the stream after its pending output.
    fn drain(&mut self, why: EndReason) {
        match self.state {
            StreamState::Opening => self.abort_for(why),
            StreamState::Open { is_acknowledged } => {
                self.end_reason = Some(why);
                self.state = StreamState::Draining {
                    is_acknowledged,
                    is_graceful: why == EndReason::Closed,
                };
            }
            StreamState::Draining { .. } | StreamState::Ending | StreamState::Closed => {}
        }
    }

    fn abort_for(&mut self, why: EndReason) {
        self.cues.clear();
        if !self.is_ending() {
            self.end_reason = Some(why);
            self.state = StreamState::Ending;
        }
    }

    fn has_output(&self) -> bool {
        match self.state {
            StreamState::Opening | StreamState::Closed => false,
            StreamState::Open { is_acknowledged } => {
                let is_cued = self.pending_cues() > 0 && !self.is_paused && !self.is_asking();
                !is_acknowledged || self.keep_alive.is_due() || is_cued
            }
            StreamState::Draining { .. } | StreamState::Ending => true,
        }
    }

    fn push(&mut self, event: &ServerEvent, since: Since) {
        if let ServerEvent::Disconnect { principal } = event {
            return self.handle_disconnect(principal);
        }
        if event.group().is_some() && !self.honored.accepts(event) {
            return;
        }
        let change = event.change();
        if self.takes(change) {
            self.cues.push_event(change, since);
        }
    }

    /// Whether an event becomes a cue.
    fn takes(&self, event: &ServerEvent) -> bool {
        (self.is_opening() || self.is_open()) && self.honored.accepts(event)
    }
}
