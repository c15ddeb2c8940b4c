use alloc::boxed::Box;

use crate::{
    clock::Millis,
    http::Headers,
    message::PROTOCOL_VERSION,
    vocabulary::{
        filter::SubscriptionFilter,
        id::{Ids, RequestId},
    },
};

use super::{
    end::{CloseReason, Loss},
    http::{
        buffered_response::BufferedResponse,
        request_queue::{HttpAction, RequestHandle, RequestQueue},
    },
    options::SubscriptionOptions,
    pending_output::SubscriptionOutput,
    probe_request::{ProbeOutcome, ProbeRequest, ProbeResponse},
    server_hint::ServerHint,
    session::{ClientSession, listener::SessionListener},
    subscription::Subscription,
};

/// One subscription to a server of any revision, over HTTP or on a message channel such as stdio:
/// finds out which revision the server speaks, then listens accordingly.
///
/// Over HTTP, several requests may be pending at the same time, so each has a number, which
/// accompanies its response to [`Listener::handle_head`], [`Listener::handle_bytes`] and
/// [`Listener::handle_end`]. On a channel, the bodies of the requests are the messages to send, and
/// each message from the server goes to [`Listener::handle_message`]. After each `handle_*` call,
/// poll [`Listener::poll_action`] until it returns `None`, then [`Listener::poll_output`] when the
/// owner is ready for more: pending changes collapse. Once [`Listener::is_ended`], close every
/// response and send what is still pending.
#[derive(Debug)]
pub struct Listener {
    requested: SubscriptionFilter,
    pub(super) options: SubscriptionOptions,
    pub(super) carrier: Carrier,
    seed: u64,
    pub(super) queue: RequestQueue,
    /// The first request of this subscription; the one before may have ended its session since.
    first_call: RequestHandle,
    pub(super) step: ListenerStep,
    retry_after: Option<Millis>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    Http,
    Channel,
}

#[derive(Debug)]
pub(super) enum ListenerStep {
    /// A question to the server is pending.
    Asking {
        call: RequestHandle,
        id: RequestId,
        question: ProbeRequest,
        reply: BufferedResponse,
        since: Millis,
    },
    Modern {
        call: RequestHandle,
        subscription: Box<Subscription>,
    },
    Session(Box<SessionListener>),
    /// The end, until it is polled.
    Ended(Option<CloseReason>),
}

impl Listener {
    /// Listens for `requested` over HTTP. `ids` holds the generator of its request ids, and any
    /// random number.
    pub fn new(
        requested: SubscriptionFilter,
        options: SubscriptionOptions,
        hint: ServerHint,
        ids: (Ids, u64),
        now: Millis,
    ) -> Self {
        let mut listener = Self::idle(Carrier::Http, requested, options, ids);
        listener.begin(hint, now);
        listener
    }

    /// Creates a listener that has sent nothing yet and has no output.
    pub(super) fn idle(
        carrier: Carrier,
        requested: SubscriptionFilter,
        options: SubscriptionOptions,
        (ids, seed): (Ids, u64),
    ) -> Self {
        Self {
            requested,
            options,
            carrier,
            seed,
            queue: RequestQueue::new(ids),
            first_call: 0,
            step: ListenerStep::Ended(None),
            retry_after: None,
        }
    }

    /// Contacts the server, with new ids and call numbers.
    pub(super) fn begin(&mut self, hint: ServerHint, now: Millis) {
        self.retry_after = None;
        self.first_call = self.queue.next_call();
        match hint {
            ServerHint::Discover { is_page } => self.ask(ProbeRequest::discover(is_page), now),
            ServerHint::Modern => self.listen(now),
            ServerHint::Legacy => self.ask(ProbeRequest::Initialize, now),
            ServerHint::Joined(capabilities) => {
                self.enter(ClientSession::joined(capabilities), false, now);
            }
        }
    }

    /// Handles the head of the response to `call`.
    ///
    /// A redirect that was not followed (browsers report status 0) ends the subscription: a client
    /// with credentials follows none.
    pub fn handle_head(
        &mut self,
        call: RequestHandle,
        status: u16,
        headers: &Headers<'_>,
        now: Millis,
    ) {
        if is_redirect(status) && call >= self.first_call && !self.is_ended() {
            return self.end(CloseReason::Lost(Loss::Redirected), None);
        }
        match &mut self.step {
            ListenerStep::Asking {
                call: own, reply, ..
            } if *own == call => reply.begin(status, headers),
            ListenerStep::Modern {
                call: own,
                subscription,
            } if *own == call => subscription.handle_head(status, headers, now),
            ListenerStep::Session(session) => {
                session.handle_head(call, (status, headers), &mut self.queue, now);
            }
            _ => {}
        }
    }

    /// Handles a piece of the response body of `call`.
    pub fn handle_bytes(&mut self, call: RequestHandle, bytes: &[u8], now: Millis) {
        match &mut self.step {
            ListenerStep::Asking {
                call: own, reply, ..
            } if *own == call => {
                reply.push(bytes, self.options.bounds.event_bytes);
                if reply.is_too_large() {
                    self.end(CloseReason::Lost(Loss::ResponseTooLarge), None);
                }
            }
            ListenerStep::Modern {
                call: own,
                subscription,
            } if *own == call => subscription.handle_bytes(bytes, now),
            ListenerStep::Session(session) => {
                session.handle_bytes(call, bytes, &mut self.queue, now);
            }
            _ => {}
        }
    }

    /// Handles the end of the response to `call`: the body is complete, broke off, or no response
    /// came.
    pub fn handle_end(&mut self, call: RequestHandle, now: Millis) {
        match &mut self.step {
            ListenerStep::Asking { call: own, .. } if *own == call => self.handle_response(now),
            ListenerStep::Modern {
                call: own,
                subscription,
            } if *own == call => subscription.handle_end(),
            ListenerStep::Session(session) => session.handle_end(call, &mut self.queue, now),
            _ => {}
        }
    }

    /// Handles the deadline of [`Listener::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Millis) {
        if self.poll_timeout().is_none_or(|deadline| deadline > now) {
            return;
        }
        let is_probing = self.is_probing();
        match &mut self.step {
            ListenerStep::Asking { .. } if is_probing => self.handle_channel_response(None, now),
            ListenerStep::Asking { .. } => self.end(CloseReason::Lost(Loss::NotAcknowledged), None),
            ListenerStep::Modern { subscription, .. } => {
                subscription.handle_timeout(now);
                self.send_cancellation();
            }
            ListenerStep::Session(session) => session.handle_timeout(&mut self.queue, now),
            ListenerStep::Ended(_) => {}
        }
    }

    /// Cancels the subscription: no output follows.
    pub fn cancel(&mut self) {
        if !self.is_ended() && self.carrier == Carrier::Http {
            self.queue.clear();
        }
        match &mut self.step {
            ListenerStep::Modern { subscription, .. } => {
                subscription.cancel();
                self.send_cancellation();
            }
            ListenerStep::Session(session) => session.leave(&mut self.queue),
            ListenerStep::Asking { .. } | ListenerStep::Ended(_) => {}
        }
        self.step = ListenerStep::Ended(None);
    }

    /// Reports every honored list and resource once, since a change may have been missed.
    pub(super) fn report_all(&mut self) {
        match &mut self.step {
            ListenerStep::Modern { subscription, .. } => subscription.report_all(),
            ListenerStep::Session(session) => session.report_all(),
            ListenerStep::Asking { .. } | ListenerStep::Ended(_) => {}
        }
    }

    /// Returns the next network operation, or `None` until the next `handle_*` call.
    pub fn poll_action(&mut self) -> Option<HttpAction> {
        self.queue.pop()
    }

    /// Returns the next output, or `None` until the next `handle_*` call.
    pub fn poll_output(&mut self) -> Option<SubscriptionOutput> {
        match &mut self.step {
            ListenerStep::Asking { .. } => None,
            ListenerStep::Modern { subscription, .. } => subscription.poll_output(),
            ListenerStep::Session(session) => session.poll_output(),
            ListenerStep::Ended(end) => end.take().map(SubscriptionOutput::Ended),
        }
    }

    /// Returns when to call [`Listener::handle_timeout`]; `None` if no deadline is set.
    pub fn poll_timeout(&self) -> Option<Millis> {
        match &self.step {
            ListenerStep::Asking { since, .. } if self.is_probing() => {
                Some(self.options.probed_until(*since))
            }
            ListenerStep::Asking { since, .. } => self.options.late_after(*since),
            ListenerStep::Modern { subscription, .. } => subscription.poll_timeout(),
            ListenerStep::Session(session) => session.poll_timeout(),
            ListenerStep::Ended(_) => None,
        }
    }

    /// Returns the revision that the server speaks; `None` until it is known.
    pub fn version(&self) -> Option<&'static str> {
        match &self.step {
            ListenerStep::Modern { .. } => Some(PROTOCOL_VERSION),
            ListenerStep::Session(session) => Some(session.version()),
            ListenerStep::Asking { .. } | ListenerStep::Ended(_) => None,
        }
    }

    /// Returns how long the server asks to wait before the next attempt.
    pub fn retry_after(&self) -> Option<Millis> {
        match &self.step {
            ListenerStep::Modern { subscription, .. } => subscription.retry_after(),
            ListenerStep::Session(session) => session.retry_after(),
            ListenerStep::Asking { .. } | ListenerStep::Ended(_) => self.retry_after,
        }
    }

    /// Returns the id of the listen request; `None` for a session, and until the server's revision
    /// is known.
    pub fn id(&self) -> Option<&RequestId> {
        match &self.step {
            ListenerStep::Modern { subscription, .. } => Some(subscription.id()),
            _ => None,
        }
    }

    /// Whether the subscription has ended; pending output may still be polled.
    pub fn is_ended(&self) -> bool {
        match &self.step {
            ListenerStep::Asking { .. } => false,
            ListenerStep::Modern { subscription, .. } => subscription.is_ended(),
            ListenerStep::Session(session) => session.is_ended(),
            ListenerStep::Ended(_) => true,
        }
    }

    fn ask(&mut self, question: ProbeRequest, now: Millis) {
        let id = self.queue.ids.mint();
        let request = question.request(&id, self.options.client_info.as_deref());
        self.step = ListenerStep::Asking {
            call: self.queue.send(request),
            id,
            question,
            reply: BufferedResponse::default(),
            since: now,
        };
    }

    fn listen(&mut self, now: Millis) {
        let id = self.queue.ids.mint();
        let requested = self.requested.clone();
        let subscription = Subscription::new(id, requested, self.options.clone(), now);
        let call = self.queue.send(subscription.request());
        self.step = ListenerStep::Modern {
            call,
            subscription: Box::new(subscription),
        };
    }

    fn enter(&mut self, session: ClientSession, has_begun: bool, now: Millis) {
        let options = self.options.clone();
        let listener = SessionListener::new(session, &self.requested, options, self.seed, now);
        self.step = ListenerStep::Session(Box::new(match self.carrier {
            Carrier::Http => listener.started(&mut self.queue),
            Carrier::Channel => listener.started_on_channel(has_begun, &mut self.queue),
        }));
    }

    /// Evaluates the complete response to the pending question.
    fn handle_response(&mut self, now: Millis) {
        if let Some((question, reply)) = self.take_question() {
            self.follow(question.next(ProbeResponse::Http(&reply)), now);
        }
    }

    pub(super) fn take_question(&mut self) -> Option<(ProbeRequest, BufferedResponse)> {
        match core::mem::replace(&mut self.step, ListenerStep::Ended(None)) {
            ListenerStep::Asking {
                question, reply, ..
            } => Some((question, reply)),
            step => {
                self.step = step;
                None
            }
        }
    }

    pub(super) fn follow(&mut self, next: ProbeOutcome, now: Millis) {
        match next {
            ProbeOutcome::Ask(question) => self.ask(question, now),
            ProbeOutcome::Listen => self.listen(now),
            ProbeOutcome::Enter(session) => self.enter(session, true, now),
            ProbeOutcome::End(end, retry_after) => self.end(end, retry_after),
        }
    }

    pub(super) fn end(&mut self, end: CloseReason, retry_after: Option<Millis>) {
        self.retry_after = retry_after;
        self.step = ListenerStep::Ended(Some(end));
    }
}

/// 304 is not included: it has no target.
fn is_redirect(status: u16) -> bool {
    matches!(status, 0 | 301 | 302 | 303 | 307 | 308)
}
