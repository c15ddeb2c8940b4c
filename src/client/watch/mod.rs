pub(crate) mod backoff;
pub(crate) mod renewal;

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
    approach::Approach,
    end::{End, Loss},
    era,
    http::wire::{Call, Transfer},
    listener::{Carrier, Listener},
    options::Options,
    subscription::Output,
    watch::renewal::Renewal,
};

/// A subscription that is opened again whenever it ends, until the server says that it never will be.
///
/// It is driven as [`Listener`] is: after each `handle_*` call and each output, poll
/// [`Watch::poll_transfer`] until it answers `None`. Whenever [`Watch::is_ended`], close every response;
/// what is still to be sent then is a farewell. On a channel, poll [`Watch::poll_join`] too.
#[derive(Debug)]
pub struct Watch {
    listener: Listener,
    renewal: Renewal,
    /// How a server is approached that was not listened to yet.
    approach: Approach,
    /// The way in which the server was listened to.
    found: Option<Approach>,
    /// How long the server asked to wait as the last subscription ended.
    asked: Option<Millis>,
    opens_again: bool,
    tells_again: bool,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The channel is to be joined.
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

/// Where a watch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// A subscription is requested.
    Connecting,
    /// It is open: what is honored is told.
    Live,
    /// The next attempt waits for its time.
    Waiting,
    /// There will be no other attempt.
    Stopped,
}

/// What a watch has to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchOutput {
    /// The subscription is open.
    Live {
        /// What the server honors.
        honored: SubscriptionFilter,
        /// Whether it was open before: changes may have been missed since. Every honored list and
        /// resource is told as changed; what became of tasks has to be asked.
        is_again: bool,
    },
    /// Something changed: read it again.
    Changed(ServerEvent),
    /// The subscription has ended, and is opened again.
    Waiting {
        /// How it ended.
        end: End,
        /// When it is opened again.
        until: Millis,
    },
    /// The subscription has ended for good.
    Stopped(End),
}

impl Watch {
    /// A watch over HTTP that opens its first subscription now; `seed` is any random number.
    pub fn new(
        requested: SubscriptionFilter,
        options: Options,
        approach: Approach,
        seed: u64,
        now: Millis,
    ) -> Self {
        Self::with_ids(requested, options, approach, (Ids::default(), seed), now)
    }

    /// As [`Watch::new`], with these ids for its requests.
    pub fn with_ids(
        requested: SubscriptionFilter,
        options: Options,
        approach: Approach,
        (ids, seed): (Ids, u64),
        now: Millis,
    ) -> Self {
        let listener = Listener::idle(Carrier::Http, requested, options, (ids, seed));
        let mut watch = Self::of(listener, approach, seed);
        watch.open(now);
        watch
    }

    /// A watch on a channel such as stdio, which is joined anew for each subscription; `seed` is any random number.
    pub fn on_channel(requested: SubscriptionFilter, options: Options, seed: u64) -> Self {
        let listener = Listener::idle_on_channel(requested, options);
        let approach = Approach::Discover { is_page: false };
        Self::of(listener, approach, seed)
    }

    fn of(listener: Listener, approach: Approach, seed: u64) -> Self {
        Self {
            listener,
            renewal: Renewal::new(seed),
            approach,
            found: None,
            asked: None,
            opens_again: true,
            tells_again: true,
            phase: Phase::Joining { is_asked: false },
        }
    }

    /// The same for one subscription, which is not opened again.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.opens_again = false;
        self
    }

    /// The same for an owner that reads all that is honored at each [`WatchOutput::Live`]: what may have been
    /// missed is not told as changed too.
    #[must_use]
    pub fn without_repeats(mut self) -> Self {
        self.tells_again = false;
        self
    }

    /// Whether the channel is to be joined now, which is asked once: then call [`Watch::handle_joined`], or
    /// [`Watch::handle_exit`] where there is none.
    pub fn poll_join(&mut self) -> bool {
        match &mut self.phase {
            Phase::Joining { is_asked } => !core::mem::replace(is_asked, true),
            _ => false,
        }
    }

    /// The channel was joined, where the server is approached so; `ids` are for the requests of this
    /// subscription, apart from all others on the channel.
    pub fn handle_joined(&mut self, approach: Approach, ids: Ids, now: Millis) {
        if let Phase::Joining { .. } = self.phase {
            self.approach = approach;
            self.listener.wire.ids = ids;
            self.begin(now);
        }
    }

    /// The answer to `call` begins.
    pub fn handle_head(&mut self, call: Call, status: u16, headers: &Headers<'_>, now: Millis) {
        self.listener.handle_head(call, status, headers, now);
    }

    /// More of the body of the answer to `call` came.
    pub fn handle_bytes(&mut self, call: Call, bytes: &[u8], now: Millis) {
        self.listener.handle_bytes(call, bytes, now);
    }

    /// The answer to `call` came to its end or broke off, or there was none.
    pub fn handle_end(&mut self, call: Call, now: Millis) {
        self.listener.handle_end(call, now);
    }

    /// A message of the server on a channel; the answer is whether it was for this subscription alone.
    pub fn handle_message(&mut self, message: &[u8], now: Millis) -> bool {
        self.listener.handle_message(message, now)
    }

    /// A message was lost on the channel, which may have been any change.
    pub fn handle_gap(&mut self) {
        self.listener.handle_gap();
    }

    /// The channel is gone, or could not be joined.
    pub fn handle_exit(&mut self) {
        if let Phase::Joining { .. } = self.phase {
            self.phase = Phase::Connecting;
            self.listener.end(End::Lost(Loss::Disconnected), None);
        } else {
            self.listener.handle_exit();
        }
    }

    /// The channel was refused a message, with this HTTP status.
    pub fn handle_refusal(&mut self, status: u16) {
        self.listener.handle_refusal(status);
    }

    /// The moment of [`Watch::poll_timeout`] has come.
    ///
    /// A subscription of 2026-07-28 that broke is not resumed: each request is a new one with a new id
    /// (2026-07-28, Key Changes).
    pub fn handle_timeout(&mut self, now: Millis) {
        match self.phase {
            Phase::Waiting { until } if until <= now => self.open(now),
            Phase::Waiting { .. } => {}
            _ => self.listener.handle_timeout(now),
        }
    }

    /// The network is back: the next subscription is opened now, unless the server asked to wait.
    pub fn handle_online(&mut self, now: Millis) {
        if let Phase::Waiting { .. } = self.phase
            && self.asked.is_none()
        {
            self.open(now);
        }
    }

    /// Stops for good, without another word.
    pub fn cancel(&mut self) {
        self.phase = Phase::Stopped;
        self.listener.cancel();
    }

    /// What to do on the network next, or `None` until something is handled again.
    pub fn poll_transfer(&mut self) -> Option<Transfer> {
        self.listener.poll_transfer()
    }

    /// What to tell next, or `None` until something is handled again.
    pub fn poll_output(&mut self, now: Millis) -> Option<WatchOutput> {
        Some(match self.listener.poll_output()? {
            Output::Acknowledged(honored) => self.go_live(honored, now),
            Output::Changed(event) => WatchOutput::Changed(event),
            Output::Ended(end) => self.finish(end, now),
        })
    }

    /// When to call [`Watch::handle_timeout`]; `None` while nothing has a limit.
    pub fn poll_timeout(&self) -> Option<Millis> {
        match self.phase {
            Phase::Waiting { until } => Some(until),
            _ => self.listener.poll_timeout(),
        }
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        match self.phase {
            Phase::Joining { .. } | Phase::Connecting => State::Connecting,
            Phase::Live => State::Live,
            Phase::Waiting { .. } => State::Waiting,
            Phase::Stopped => State::Stopped,
        }
    }

    /// The revision that the server speaks; `None` until that is known, and while there is no subscription.
    pub fn version(&self) -> Option<&'static str> {
        self.listener.version()
    }

    /// The id of the listen request, as [`Listener::id`] has it.
    pub fn id(&self) -> Option<&RequestId> {
        self.listener.id()
    }

    /// How long the server asked to wait as the last subscription ended.
    pub fn retry_after(&self) -> Option<Millis> {
        self.asked
    }

    /// Whether there is no subscription at the moment; what is left to tell of the last may still be polled.
    pub fn is_ended(&self) -> bool {
        self.listener.is_ended()
    }

    fn open(&mut self, now: Millis) {
        match self.listener.carrier {
            Carrier::Http => self.begin(now),
            Carrier::Channel => self.phase = Phase::Joining { is_asked: false },
        }
    }

    /// A server that was listened to before is not asked again which revision it speaks.
    fn begin(&mut self, now: Millis) {
        let found = self.found.filter(|_| self.is_asking());
        self.phase = Phase::Connecting;
        self.listener.begin(found.unwrap_or(self.approach), now);
    }

    fn go_live(&mut self, honored: SubscriptionFilter, now: Millis) -> WatchOutput {
        let is_again = self.renewal.handle_live(honored.is_empty(), now);
        if is_again && self.tells_again {
            self.listener.tell_all();
        }
        let is_modern = self.version() == Some(PROTOCOL_VERSION);
        self.found = Some(if is_modern {
            Approach::Modern
        } else {
            Approach::Legacy
        });
        self.phase = Phase::Live;
        WatchOutput::Live { honored, is_again }
    }

    /// The next subscription has a session of its own.
    fn finish(&mut self, end: End, now: Millis) -> WatchOutput {
        self.asked = self.listener.retry_after();
        self.listener.cancel();
        let until = self.renewed(&end, now).filter(|_| self.opens_again);
        let Some(until) = until else {
            self.phase = Phase::Stopped;
            return WatchOutput::Stopped(end);
        };
        self.phase = Phase::Waiting { until };
        WatchOutput::Waiting { end, until }
    }

    /// When to open the next subscription; `None`: never.
    fn renewed(&mut self, end: &End, now: Millis) -> Option<Millis> {
        if self.is_doubtful(end) {
            self.found = None;
            let lost = End::Lost(Loss::Disconnected);
            return self.renewal.handle_end(&lost, self.asked, now);
        }
        self.renewal.handle_end(end, self.asked, now)
    }

    /// Whether the server may be another one now, which does not speak as it was found to: it is asked again
    /// before its refusal counts.
    fn is_doubtful(&self, end: &End) -> bool {
        let End::Refused(refusal) = end else {
            return false;
        };
        self.is_asking() && self.found.is_some() && !era::is_passing(refusal.status)
    }

    /// Whether a server is asked which revision it speaks.
    fn is_asking(&self) -> bool {
        matches!(self.approach, Approach::Discover { .. })
    }
}

impl State {
    /// A stable name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Live => "live",
            Self::Waiting => "waiting",
            Self::Stopped => "stopped",
        }
    }
}
