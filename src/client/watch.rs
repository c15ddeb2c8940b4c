use crate::{
    clock::Millis, event::ServerEvent, filter::SubscriptionFilter, id::Ids, listen::Headers,
};

use super::{
    end::End,
    options::Options,
    renewal::Renewal,
    request::HttpRequest,
    subscription::{Output, Subscription},
};

/// A subscription that is opened again whenever it ends, until the server says that it never will be.
///
/// Poll [`Watch::poll_output`] at first, and after each `handle_*` call, until it answers `None`;
/// call [`Watch::handle_timeout`] when [`Watch::poll_timeout`] says. Input is always that of the
/// request given last; what an earlier one still brings is not to be handed in.
#[derive(Debug)]
pub struct Watch {
    requested: SubscriptionFilter,
    options: Options,
    ids: Ids,
    renewal: Renewal,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// It is time to open a subscription.
    Due,
    Connecting(Box<Subscription>),
    Live(Box<Subscription>),
    Waiting {
        until: Millis,
    },
    Stopped,
}

/// Where a watch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What a watch wants done, or has to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchOutput {
    /// Send this request.
    Open(HttpRequest),
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
    /// The subscription has ended, for which its response is to be closed, and is opened again.
    Waiting {
        /// How it ended.
        end: End,
        /// When it is opened again.
        until: Millis,
    },
    /// The subscription has ended for good; its response is to be closed.
    Stopped(End),
}

impl Watch {
    /// A watch that opens its first subscription now; `seed` is any random number.
    pub fn new(requested: SubscriptionFilter, options: Options, seed: u64) -> Self {
        Self {
            requested,
            options,
            ids: Ids::default(),
            renewal: Renewal::new(seed),
            phase: Phase::Due,
        }
    }

    /// The answer begins; see [`Subscription::handle_head`].
    pub fn handle_head(&mut self, status: u16, headers: &Headers<'_>, now: Millis) {
        if let Some(subscription) = self.subscription() {
            subscription.handle_head(status, headers, now);
        }
    }

    /// More of the answer's body came.
    pub fn handle_bytes(&mut self, bytes: &[u8], now: Millis) {
        if let Some(subscription) = self.subscription() {
            subscription.handle_bytes(bytes, now);
        }
    }

    /// The answer's body came to its end or broke off, or no answer came at all.
    pub fn handle_end(&mut self) {
        if let Some(subscription) = self.subscription() {
            subscription.handle_end();
        }
    }

    /// The moment of [`Watch::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Millis) {
        match self.phase {
            Phase::Waiting { until } if until <= now => self.phase = Phase::Due,
            _ => {
                if let Some(subscription) = self.subscription() {
                    subscription.handle_timeout(now);
                }
            }
        }
    }

    /// Stops for good, without another word; a response that is still open is to be closed.
    pub fn cancel(&mut self) {
        self.phase = Phase::Stopped;
    }

    /// What to do or to tell next, or `None` until something is handled again.
    pub fn poll_output(&mut self, now: Millis) -> Option<WatchOutput> {
        if matches!(self.phase, Phase::Due) {
            return Some(self.open(now));
        }
        let output = self.subscription()?.poll_output()?;
        Some(match output {
            Output::Acknowledged(honored) => self.go_live(honored, now),
            Output::Changed(event) => WatchOutput::Changed(event),
            Output::Ended(end) => self.finish(end, now),
        })
    }

    /// When to call [`Watch::handle_timeout`]; `None` while nothing has a limit.
    pub fn poll_timeout(&self) -> Option<Millis> {
        match &self.phase {
            Phase::Connecting(subscription) | Phase::Live(subscription) => {
                subscription.poll_timeout()
            }
            Phase::Waiting { until } => Some(*until),
            Phase::Due | Phase::Stopped => None,
        }
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        match self.phase {
            Phase::Due | Phase::Connecting(_) => State::Connecting,
            Phase::Live(_) => State::Live,
            Phase::Waiting { .. } => State::Waiting,
            Phase::Stopped => State::Stopped,
        }
    }

    fn subscription(&mut self) -> Option<&mut Subscription> {
        match &mut self.phase {
            Phase::Connecting(subscription) | Phase::Live(subscription) => Some(subscription),
            Phase::Due | Phase::Waiting { .. } | Phase::Stopped => None,
        }
    }

    /// A stream that broke is not resumed: each request is a new one with a new id (2026-07-28, Key Changes).
    fn open(&mut self, now: Millis) -> WatchOutput {
        let id = self.ids.mint();
        let requested = self.requested.clone();
        let subscription = Subscription::new(id, requested, self.options.clone(), now);
        let request = subscription.request();
        self.phase = Phase::Connecting(Box::new(subscription));
        WatchOutput::Open(request)
    }

    fn go_live(&mut self, honored: SubscriptionFilter, now: Millis) -> WatchOutput {
        let is_again = self.renewal.handle_live(honored.is_empty(), now);
        if let Phase::Connecting(mut subscription) =
            std::mem::replace(&mut self.phase, Phase::Stopped)
        {
            if is_again {
                subscription.tell_all();
            }
            self.phase = Phase::Live(subscription);
        }
        WatchOutput::Live { honored, is_again }
    }

    fn finish(&mut self, end: End, now: Millis) -> WatchOutput {
        let asked = self.subscription().and_then(|ended| ended.retry_after());
        let Some(until) = self.renewal.handle_end(&end, asked, now) else {
            self.phase = Phase::Stopped;
            return WatchOutput::Stopped(end);
        };
        self.phase = Phase::Waiting { until };
        WatchOutput::Waiting { end, until }
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
