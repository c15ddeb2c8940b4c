//! The edge: what holds one client's stream and joins it to the bus, over one connection after another.

mod ending;

use std::sync::Arc;

use crate::{
    bus::{Attach, EdgeMessage, Interest, Mark, ProtocolError},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    legacy::event_id,
    listen::{Ending, Output, ServerStream, Stamp},
    scope::Scope,
    seeded::{self, Bug},
    sse,
    tally::Tally,
    upstream::{BusCall, Counts, Follower, Heard, Past, Patience},
    uri::Uri,
};

/// One client's stream over HTTP: bus frames in, server-sent events out.
///
/// Drive it as [`ServerStream`] says; it answers in bytes of the response body. When
/// [`Edge::poll_timeout`] says, call [`Edge::handle_timeout`]; after that and after
/// [`Edge::handle_bus_lost`] poll [`Edge::poll_call`] until it answers `None`. The
/// stream outlives its bus: it stays open, and hears what it missed once the bus is back.
#[derive(Debug)]
pub struct Edge {
    stream: ServerStream,
    follower: Follower,
    last_id: Option<String>,
    denied: Vec<Uri>,
    /// The first attachment tells what happened before the stream was opened, when its caller was known.
    tells_past: bool,
    /// What the bus sends, where that is more than the client may hear.
    sent: Option<SubscriptionFilter>,
    /// When and why it ends, whether the bus has answered by then or not.
    ends_by: Option<(Millis, Ending)>,
    /// By how much the clock of 1970 is ahead of the one that is told here.
    epoch: Millis,
}

impl Edge {
    /// Joins `stream` to a bus; send [`Edge::attach_message`] there first.
    pub fn new(stream: ServerStream) -> Self {
        Self::resuming(stream, Past::None)
    }

    /// Joins to a bus a stream that goes on from where an earlier one ended: what the bus
    /// does not replay is made up for by cueing every honored subject once.
    pub fn resuming(mut stream: ServerStream, past: Past) -> Self {
        if seeded::has(Bug::AcknowledgesUnregistered) {
            stream.handle_attached(Millis(0));
        }
        Self {
            stream,
            tells_past: past != Past::None,
            follower: Follower::new(past),
            last_id: None,
            denied: Vec::new(),
            sent: None,
            ends_by: None,
            epoch: Millis::default(),
        }
    }

    /// Holds the stream of a session, to which a bus says what it watches before it confirms an attach: what is
    /// confirmed without that is not, for nobody would know what it is about.
    #[must_use]
    pub fn of_session(mut self) -> Self {
        self.follower.expect_interest();
        self
    }

    /// Leaves out of what the session watches the URIs that its client may no longer hear of.
    #[must_use]
    pub fn denying(self, denied: Vec<Uri>) -> Self {
        Self { denied, ..self }
    }

    /// What the caller hears of what is not for everybody; before it is attached anywhere.
    pub fn scope_to(&mut self, scope: Scope) {
        self.stream.scope_to(scope);
    }

    /// The caller has further audiences: [`Edge::poll_call`] asks the bus anew, with these and from where this one is.
    pub fn handle_scope(&mut self, scope: Scope, now: Millis) {
        self.stream.scope_to(scope);
        self.follower.handle_scope(now);
        if !self.follower.is_lost() {
            self.follower.handle_wish(now);
        }
    }

    /// Counts what happens in `tally`. `epoch` is how much the clock of 1970 is ahead of the one of the other calls.
    pub fn count_in(&mut self, tally: Arc<Tally>, epoch: Millis) {
        self.stream.count_in(tally);
        self.epoch = epoch;
    }

    /// How patient it is with its bus.
    pub fn set_patience(&mut self, patience: Patience) {
        self.follower.set_patience(patience);
    }

    /// The frame that registers this edge with its bus: the first one, and those that
    /// [`Edge::poll_call`] asks for.
    pub fn attach_message(&self) -> String {
        EdgeMessage::Attach(Attach {
            since: self.since().cloned(),
            ..Attach::new(Interest::Filter(self.stream.honored().clone()))
        })
        .to_json()
    }

    /// What the attach that is on its way says that was heard.
    pub fn since(&self) -> Option<&Mark> {
        self.follower.since()
    }

    /// A frame came from the bus.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped, and the stream has not changed.
    pub fn handle_bus_message(&mut self, text: &str, now: Millis) -> Result<(), ProtocolError> {
        let handled = self.take(text, now);
        self.end_if_due(now);
        handled
    }

    fn take(&mut self, text: &str, now: Millis) -> Result<(), ProtocolError> {
        // A stream that drains takes nothing in any more, and must not say that it heard it.
        let is_over = !self.stream.is_opening() && !self.stream.is_open();
        if is_over && !seeded::has(Bug::HearsWhileDraining) {
            return Ok(());
        }
        let wanted = self.sent.as_ref().unwrap_or(self.stream.honored());
        let heard = self.follower.handle_message(text, Some(wanted), now);
        if seeded::has(Bug::EndsAtAGap) && self.counts().gaps > 0 {
            self.stream.abort();
        }
        match heard? {
            Heard::Nothing | Heard::Adjusted(_) | Heard::Refused(_) => {}
            Heard::Attached { is_whole } => {
                if !is_whole {
                    self.stream.handle_loss();
                    if seeded::has(Bug::EndsAtANewEpoch) {
                        self.stream.abort();
                    }
                }
                self.stream.handle_attached(now);
            }
            Heard::Event {
                position,
                at,
                event,
            } => {
                // That the client is ready may have been said, and lost.
                if self.stream.is_held() {
                    self.follower.doubt(now);
                }
                // What is replayed tells no time. Who was revoked before this stream was opened has been let in again.
                let is_revoked = matches!(event, ServerEvent::Revoked { .. });
                if is_revoked && at.is_none() && self.tells_past {
                    return Ok(());
                }
                let published = at.map(|at| at - self.epoch);
                self.stream.handle_event_at(&event, position, published);
            }
            Heard::Interest { interest, is_held } => {
                let Interest::Filter(filter) = interest else {
                    return Err(ProtocolError::OutOfPlace);
                };
                self.follow(filter);
                self.stream.handle_hold(is_held);
            }
        }
        Ok(())
    }

    /// What is watched no longer is denied no longer either: to be watched again it is authorized anew.
    fn follow(&mut self, mut filter: SubscriptionFilter) {
        self.denied
            .retain(|uri| filter.resource_subscriptions.contains(uri));
        // A bus of the version before says nothing of it.
        filter.scope = self.stream.honored().scope.clone();
        self.sent = (!self.denied.is_empty()).then(|| filter.clone());
        let watched = &mut filter.resource_subscriptions;
        watched.retain(|uri| !self.denied.contains(uri));
        self.stream.handle_filter(filter);
    }

    /// The connection to the bus is gone, or could not be made. A stream that is open stays so; one
    /// that is not ends, and its request is to be refused. `random` is drawn from [0, 1).
    pub fn handle_bus_lost(&mut self, now: Millis, random: f64, is_overloaded: bool) {
        if self.follower.is_opening() || seeded::has(Bug::EndsWithItsBus) {
            self.stream.abort();
        }
        self.follower.handle_lost(now, random, is_overloaded);
    }

    /// The moment of [`Edge::poll_timeout`] has come. `random` is drawn from [0, 1).
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        self.stream.handle_timeout(now);
        self.follower.handle_timeout(now, random);
        self.end_if_due(now);
    }

    /// When to call [`Edge::handle_timeout`]; `None`: not until something is handled.
    pub fn poll_timeout(&self) -> Option<Millis> {
        let follower = self.follower.poll_timeout();
        let is_open = self.stream.is_open();
        let deadlines = [
            self.stream.poll_timeout(),
            follower.filter(|_| is_open),
            self.ends_by.map(|(at, _)| at).filter(|_| is_open),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// What is to be done about the bus, or `None` until something is handled again: with
    /// [`BusCall::Attach`] and [`BusCall::Ask`] goes [`Edge::attach_message`].
    pub fn poll_call(&mut self, now: Millis) -> Option<BusCall> {
        if !self.stream.is_open() {
            return None;
        }
        let call = self.follower.poll_call(now);
        self.tells_past &= call.is_none();
        call
    }

    /// Somebody else knows that something may be missing: the bus is to be asked.
    pub fn handle_doubt(&mut self, now: Millis) {
        self.follower.handle_question(now);
    }

    /// There is nothing to register: the stream is acknowledged and ends at once.
    pub fn finish_without_bus(&mut self, now: Millis) {
        self.stream.handle_attached(now);
        self.stream.close();
    }

    /// The next bytes of the response body, or `None` until something is handled again.
    pub fn poll_frame(&mut self, now: Millis) -> Option<Frame> {
        let frame = match self.stream.poll_output(now)? {
            Output::Opened => sse::priming(&self.event_id()),
            Output::Message(message) => self.identified(sse::event(&message)),
            Output::KeepAlive => sse::KEEP_ALIVE.to_vec(),
            Output::End => return Some(Frame::End),
        };
        Some(Frame::Bytes(frame))
    }

    /// The stream, for its deadlines and its end.
    pub fn stream(&mut self) -> &mut ServerStream {
        &mut self.stream
    }

    /// Where in the bus's log this edge stands; `None` until it is attached.
    pub fn mark(&self) -> Option<&Mark> {
        self.follower.mark()
    }

    /// Whether the bus was lost, and has not confirmed again yet.
    pub fn is_away(&self) -> bool {
        self.follower.is_away()
    }

    /// How often the bus had to be followed anew.
    pub fn counts(&self) -> Counts {
        self.follower.counts()
    }

    /// Only the streams of sessions resume; an id that says nothing new is left out.
    fn identified(&mut self, frame: Vec<u8>) -> Vec<u8> {
        if matches!(self.stream.stamp(), Stamp::Subscription(_)) {
            return frame;
        }
        let former = self.last_id.take();
        let id = self.event_id();
        if former.as_ref() == Some(&id) {
            return frame;
        }
        sse::identified(&id, &frame)
    }

    /// The id after which nothing has been missed, once what was polled has been read.
    fn event_id(&mut self) -> String {
        let covered = self.follower.mark().and_then(|mark| {
            let position = self.stream.covered(mark.position)?;
            Some(Mark {
                position,
                epoch: mark.epoch.clone(),
            })
        });
        let id = event_id::write(covered.as_ref());
        self.last_id = Some(id.clone());
        id
    }
}

/// A piece of the response body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Bytes to write.
    Bytes(Vec<u8>),
    /// The body ends here.
    End,
}
