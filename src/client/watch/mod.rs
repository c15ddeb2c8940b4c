pub(crate) mod reconnect_policy;

use crate::{
    clock::Millis,
    http::Headers,
    message::PROTOCOL_VERSION,
    vocabulary::{
        event::ServerEvent,
        filter::SubscriptionFilter,
        id::{Ids, RequestId},
    },
};

use crate::client::{
    end::{CloseReason, Loss},
    http::request_queue::{HttpAction, RequestHandle},
    listener::{Carrier, Listener},
    options::SubscriptionOptions,
    pending_output::SubscriptionOutput,
    revision,
    server_hint::ServerHint,
    watch::reconnect_policy::ReconnectPolicy,
};

/// A subscription that is reopened whenever it ends, until the server's response rules that out.
///
/// It is driven like a [`Listener`]: after each `handle_*` call and each output, poll
/// [`Watch::poll_action`] until it returns `None`. Whenever [`Watch::is_ended`], close every
/// response and send what is still pending. On a channel, poll [`Watch::poll_join`] too.
#[derive(Debug)]
pub struct Watch {
    listener: Listener,
    reconnect_policy: ReconnectPolicy,
    /// How to contact a server that no subscription was open to yet.
    hint: ServerHint,
    /// How the last open subscription reached the server; `None` if that may have changed.
    found: Option<ServerHint>,
    /// The wait that the server asked for when the last subscription ended.
    server_wait: Option<Millis>,
    opens_again: bool,
    repeats: bool,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The channel has to be joined.
    Joining {
        is_asked: bool,
    },
    Connecting,
    Live,
    Waiting {
        until: Millis,
    },
    Stopped,
}

/// The state of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchState {
    /// A subscription is requested.
    Connecting,
    /// The subscription is open: changes are delivered.
    Live,
    /// Waiting for the time of the next attempt.
    Waiting,
    /// No further attempt will be made.
    Stopped,
}

/// An output of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchOutput {
    /// The subscription is open.
    Live {
        /// The filter that the server honors.
        honored: SubscriptionFilter,
        /// Whether a subscription was open before, so that changes may have been missed in between.
        /// Every honored list and resource is then reported as changed; the state of tasks has to
        /// be fetched.
        is_again: bool,
    },
    /// Something changed: read it again.
    Changed(ServerEvent),
    /// The subscription has ended, and will be reopened.
    Waiting {
        /// How it ended.
        end: CloseReason,
        /// When it is reopened.
        until: Millis,
    },
    /// The subscription has ended permanently.
    Stopped(CloseReason),
}

impl Watch {
    /// Creates a watch over HTTP that opens its first subscription now; `seed` is any random
    /// number.
    pub fn new(
        requested: SubscriptionFilter,
        options: SubscriptionOptions,
        hint: ServerHint,
        seed: u64,
        now: Millis,
    ) -> Self {
        Self::with_ids(requested, options, hint, (Ids::default(), seed), now)
    }

    /// As [`Watch::new`], with the given generator of request ids.
    pub fn with_ids(
        requested: SubscriptionFilter,
        options: SubscriptionOptions,
        hint: ServerHint,
        (ids, seed): (Ids, u64),
        now: Millis,
    ) -> Self {
        let listener = Listener::idle(Carrier::Http, requested, options, (ids, seed));
        let mut watch = Self::of(listener, hint, seed);
        watch.open(now);
        watch
    }

    /// Creates a watch on a channel such as stdio, which is joined again for each subscription;
    /// `seed` is any random number.
    pub fn on_channel(
        requested: SubscriptionFilter,
        options: SubscriptionOptions,
        seed: u64,
    ) -> Self {
        let listener = Listener::idle_on_channel(requested, options);
        let hint = ServerHint::Discover { is_page: false };
        Self::of(listener, hint, seed)
    }

    fn of(listener: Listener, hint: ServerHint, seed: u64) -> Self {
        Self {
            listener,
            reconnect_policy: ReconnectPolicy::new(seed),
            hint,
            found: None,
            server_wait: None,
            opens_again: true,
            repeats: true,
            phase: Phase::Joining { is_asked: false },
        }
    }

    /// Watches for one subscription only, which is not reopened.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.opens_again = false;
        self
    }

    /// For an owner that reads everything honored at each [`WatchOutput::Live`]: does not also
    /// report it as changed.
    #[must_use]
    pub fn without_repeats(mut self) -> Self {
        self.repeats = false;
        self
    }

    /// Returns whether to join the channel now, once per attempt: then call
    /// [`Watch::handle_joined`], or [`Watch::handle_exit`] if there is no channel.
    pub fn poll_join(&mut self) -> bool {
        match &mut self.phase {
            Phase::Joining { is_asked } => !core::mem::replace(is_asked, true),
            _ => false,
        }
    }

    /// Handles a joined channel, with how to contact the server on it. `ids` generates the request
    /// ids of this subscription, which must differ from all others on the channel.
    pub fn handle_joined(&mut self, hint: ServerHint, ids: Ids, now: Millis) {
        if let Phase::Joining { .. } = self.phase {
            self.hint = hint;
            self.listener.queue.ids = ids;
            self.begin(now);
        }
    }

    /// Handles the head of the response to `call`.
    pub fn handle_head(
        &mut self,
        call: RequestHandle,
        status: u16,
        headers: &Headers<'_>,
        now: Millis,
    ) {
        self.listener.handle_head(call, status, headers, now);
    }

    /// Handles a piece of the response body of `call`.
    pub fn handle_bytes(&mut self, call: RequestHandle, bytes: &[u8], now: Millis) {
        self.listener.handle_bytes(call, bytes, now);
    }

    /// Handles the end of the response to `call`: the body is complete, broke off, or no response
    /// came.
    pub fn handle_end(&mut self, call: RequestHandle, now: Millis) {
        self.listener.handle_end(call, now);
    }

    /// Handles a message from the server on the channel. Returns whether the message was for this
    /// subscription alone.
    pub fn handle_message(&mut self, message: &[u8], now: Millis) -> bool {
        self.listener.handle_message(message, now)
    }

    /// Handles the loss of a message on the channel: it may have been any change.
    pub fn handle_gap(&mut self) {
        self.listener.handle_gap();
    }

    /// Handles the end of the channel, or a failure to join it.
    pub fn handle_exit(&mut self) {
        if let Phase::Joining { .. } = self.phase {
            self.phase = Phase::Connecting;
            self.listener
                .end(CloseReason::Lost(Loss::Disconnected), None);
        } else {
            self.listener.handle_exit();
        }
    }

    /// Handles the channel's refusal of a message, with this HTTP status.
    pub fn handle_refusal(&mut self, status: u16) {
        self.listener.handle_refusal(status);
    }

    /// Handles the deadline of [`Watch::poll_timeout`].
    ///
    /// A broken subscription of 2026-07-28 is not resumed: each request is a new one with a new id
    /// (2026-07-28, Key Changes).
    pub fn handle_timeout(&mut self, now: Millis) {
        match self.phase {
            Phase::Waiting { until } if until <= now => self.open(now),
            Phase::Waiting { .. } => {}
            _ => self.listener.handle_timeout(now),
        }
    }

    /// Handles the return of the network: opens the next subscription now, unless the server asked
    /// to wait.
    pub fn handle_online(&mut self, now: Millis) {
        if let Phase::Waiting { .. } = self.phase
            && self.server_wait.is_none()
        {
            self.open(now);
        }
    }

    /// Stops permanently: no output follows.
    pub fn cancel(&mut self) {
        self.phase = Phase::Stopped;
        self.listener.cancel();
    }

    /// Returns the next network operation, or `None` until the next `handle_*` call.
    pub fn poll_action(&mut self) -> Option<HttpAction> {
        self.listener.poll_action()
    }

    /// Returns the next output, or `None` until the next `handle_*` call.
    pub fn poll_output(&mut self, now: Millis) -> Option<WatchOutput> {
        Some(match self.listener.poll_output()? {
            SubscriptionOutput::Acknowledged(honored) => self.go_live(honored, now),
            SubscriptionOutput::Changed(event) => WatchOutput::Changed(event),
            SubscriptionOutput::Ended(end) => self.finish(end, now),
        })
    }

    /// Returns when to call [`Watch::handle_timeout`]; `None` if no deadline is set.
    pub fn poll_timeout(&self) -> Option<Millis> {
        match self.phase {
            Phase::Waiting { until } => Some(until),
            _ => self.listener.poll_timeout(),
        }
    }

    /// Returns the state of the watch.
    pub fn state(&self) -> WatchState {
        match self.phase {
            Phase::Joining { .. } | Phase::Connecting => WatchState::Connecting,
            Phase::Live => WatchState::Live,
            Phase::Waiting { .. } => WatchState::Waiting,
            Phase::Stopped => WatchState::Stopped,
        }
    }

    /// Returns the revision that the server speaks; `None` until it is known, and while there is no
    /// subscription.
    pub fn version(&self) -> Option<&'static str> {
        self.listener.version()
    }

    /// Returns the id of the listen request; see [`Listener::id`].
    pub fn id(&self) -> Option<&RequestId> {
        self.listener.id()
    }

    /// Returns how long the server asked to wait when the last subscription ended.
    pub fn retry_after(&self) -> Option<Millis> {
        self.server_wait
    }

    /// Whether there is no subscription at the moment; pending output of the last one may still be
    /// polled.
    pub fn is_ended(&self) -> bool {
        self.listener.is_ended()
    }

    fn open(&mut self, now: Millis) {
        match self.listener.carrier {
            Carrier::Http => self.begin(now),
            Carrier::Channel => self.phase = Phase::Joining { is_asked: false },
        }
    }

    /// Contacts the server. The revision of a server that a subscription was open to is not asked
    /// for again.
    fn begin(&mut self, now: Millis) {
        let found = self.found.filter(|_| self.is_asking());
        self.phase = Phase::Connecting;
        self.listener.begin(found.unwrap_or(self.hint), now);
    }

    fn go_live(&mut self, honored: SubscriptionFilter, now: Millis) -> WatchOutput {
        let is_again = self.reconnect_policy.handle_live(honored.is_empty(), now);
        if is_again && self.repeats {
            self.listener.report_all();
        }
        let is_modern = self.version() == Some(PROTOCOL_VERSION);
        self.found = Some(if is_modern {
            ServerHint::Modern
        } else {
            ServerHint::Legacy
        });
        self.phase = Phase::Live;
        WatchOutput::Live { honored, is_again }
    }

    /// Handles the end of the subscription. The next one has its own session.
    fn finish(&mut self, end: CloseReason, now: Millis) -> WatchOutput {
        self.server_wait = self.listener.retry_after();
        self.listener.cancel();
        let until = self.next_attempt(&end, now).filter(|_| self.opens_again);
        let Some(until) = until else {
            self.phase = Phase::Stopped;
            return WatchOutput::Stopped(end);
        };
        self.phase = Phase::Waiting { until };
        WatchOutput::Waiting { end, until }
    }

    /// Returns when to open the next subscription; `None` if there is none.
    fn next_attempt(&mut self, end: &CloseReason, now: Millis) -> Option<Millis> {
        if self.may_be_replaced(end) {
            self.found = None;
            let lost = CloseReason::Lost(Loss::Disconnected);
            return self
                .reconnect_policy
                .handle_end(&lost, self.server_wait, now);
        }
        if self.may_be_unreadable(end) {
            self.found = None;
        }
        self.reconnect_policy.handle_end(end, self.server_wait, now)
    }

    /// Whether the server may have been replaced by one that speaks another revision: the client
    /// asks again before the refusal counts.
    fn may_be_replaced(&self, end: &CloseReason) -> bool {
        let CloseReason::Refused(refusal) = end else {
            return false;
        };
        self.is_asking() && self.found.is_some() && !revision::is_transient(refusal.status)
    }

    /// Whether the server may have been replaced by one whose CORS policy hides its refusal from a
    /// page (see [`revision::of_no_response`]).
    fn may_be_unreadable(&self, end: &CloseReason) -> bool {
        let is_in_page = matches!(self.hint, ServerHint::Discover { is_page: true });
        let was_live = matches!(self.phase, Phase::Live);
        is_in_page && !was_live && matches!(end, CloseReason::Lost(_))
    }

    /// Whether the client asks the server which revision it speaks.
    fn is_asking(&self) -> bool {
        matches!(self.hint, ServerHint::Discover { .. })
    }
}
