use crate::{
    clock::Millis, event::ServerEvent, filter::SubscriptionFilter, id::Ids, listen::Headers,
};

use super::{
    approach::Approach,
    end::End,
    listener::Listener,
    options::Options,
    renewal::Renewal,
    subscription::Output,
    wire::{Call, Transfer},
};

/// A subscription that is opened again whenever it ends, until the server says that it never will be.
///
/// It is driven as [`Listener`] is: after each `handle_*` call and each output, poll
/// [`Watch::poll_transfer`] until it answers `None`. Whenever [`Watch::is_ended`], close every response;
/// what is still to be sent then is a farewell.
#[derive(Debug)]
pub struct Watch {
    listener: Listener,
    renewal: Renewal,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Connecting,
    Live,
    Waiting { until: Millis },
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
    /// A watch that opens its first subscription now; `seed` is any random number.
    pub fn new(
        requested: SubscriptionFilter,
        options: Options,
        approach: Approach,
        seed: u64,
        now: Millis,
    ) -> Self {
        let ids = (Ids::default(), seed);
        Self {
            listener: Listener::new(requested, options, approach, ids, now),
            renewal: Renewal::new(seed),
            phase: Phase::Connecting,
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

    /// The moment of [`Watch::poll_timeout`] has come.
    ///
    /// A subscription of 2026-07-28 that broke is not resumed: each request is a new one with a new id
    /// (2026-07-28, Key Changes).
    pub fn handle_timeout(&mut self, now: Millis) {
        match self.phase {
            Phase::Waiting { until } if until <= now => {
                self.phase = Phase::Connecting;
                self.listener.begin(now);
            }
            Phase::Waiting { .. } => {}
            _ => self.listener.handle_timeout(now),
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
            Phase::Connecting => State::Connecting,
            Phase::Live => State::Live,
            Phase::Waiting { .. } => State::Waiting,
            Phase::Stopped => State::Stopped,
        }
    }

    /// Whether there is no subscription at the moment; what is left to tell of the last may still be polled.
    pub fn is_ended(&self) -> bool {
        self.listener.is_ended()
    }

    fn go_live(&mut self, honored: SubscriptionFilter, now: Millis) -> WatchOutput {
        let is_again = self.renewal.handle_live(honored.is_empty(), now);
        if is_again {
            self.listener.tell_all();
        }
        self.phase = Phase::Live;
        WatchOutput::Live { honored, is_again }
    }

    /// The next subscription has a session of its own.
    fn finish(&mut self, end: End, now: Millis) -> WatchOutput {
        let asked = self.listener.retry_after();
        self.listener.cancel();
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
