use core::time::Duration;

use crate::{backoff, clock::Millis};

/// The connection of an edge to its bus: attached, waiting for a reply, or lost and waiting for the
/// next attempt.
#[derive(Debug)]
pub(super) struct Link {
    limits: WaitLimits,
    state: State,
    /// When the bus was lost; `None` once it has confirmed again.
    away_since: Option<Millis>,
    /// When the bus was last asked on an open connection.
    asked_at: Option<Millis>,
    /// When it was last certain that nothing is missing.
    certain_at: Millis,
    /// Something was inconsistent while a reply was pending: ask once more after it.
    asks_again: bool,
    /// The connection is open but no longer used.
    is_stale: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Attached; if events may be missing, the bus is asked at `ask_at`.
    Attached { ask_at: Option<Millis> },
    /// An attach is pending, on the current connection or a new one.
    Asking { until: Millis },
    /// The bus is lost; the next attempt is at `until`.
    Lost { until: Millis },
}

/// The timeouts of an edge for its bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// How long until an attach without a reply counts as failed. Default 5 s.
    pub attach: Duration,
    /// How long without certainty until the bus is asked whether events were missed. Default zero,
    /// which disables this.
    pub probe_interval: Duration,
}

/// [`Timeouts`] as the clock counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitLimits {
    pub(super) attach: Millis,
    probe_interval: Millis,
}

/// A call to the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BusCall {
    /// Close the current connection.
    Leave,
    /// Attach on a new connection.
    Attach,
    /// Attach again on the current connection.
    Ask,
}

impl Link {
    /// Creates a link whose first attach is due at once.
    pub(super) fn unattached() -> Self {
        Self {
            limits: Timeouts::default().into(),
            state: State::Lost { until: Millis(0) },
            away_since: None,
            asked_at: None,
            certain_at: Millis(0),
            asks_again: false,
            is_stale: false,
        }
    }

    pub(super) fn set_limits(&mut self, limits: WaitLimits) {
        self.limits = limits;
    }

    pub(super) fn is_attached(&self) -> bool {
        matches!(self.state, State::Attached { .. })
    }

    pub(super) fn is_certain(&self) -> bool {
        self.state == State::Attached { ask_at: None }
    }

    pub(super) fn is_away(&self) -> bool {
        self.away_since.is_some()
    }

    /// Whether there is no connection.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self.state, State::Lost { .. })
    }

    /// Whether a reply to an attach is pending.
    pub(super) fn awaits(&self) -> bool {
        matches!(self.state, State::Asking { .. })
    }

    /// Handles the confirmation of the bus; returns whether the bus had been unavailable.
    pub(super) fn handle_attached(&mut self, now: Millis) -> bool {
        let asks_again = core::mem::take(&mut self.asks_again);
        self.state = State::Attached {
            ask_at: asks_again.then(|| self.next_ask(now)),
        };
        self.certain_at = now;
        self.away_since.take().is_some()
    }

    /// Records that nothing is missing up to now.
    pub(super) fn handle_certain(&mut self, now: Millis) {
        self.certain_at = now;
    }

    /// Records that events may be missing, so that the bus is asked. Returns whether this was not
    /// known yet.
    pub(super) fn request_probe(&mut self, now: Millis) -> bool {
        match self.state {
            State::Attached { ask_at: None } => {
                self.state = State::Attached {
                    ask_at: Some(self.next_ask(now)),
                };
                true
            }
            State::Asking { .. } => !core::mem::replace(&mut self.asks_again, true),
            State::Attached { .. } | State::Lost { .. } => false,
        }
    }

    /// Asks the bus at once, or tries to reach it at once.
    pub(super) fn retry_now(&mut self, now: Millis) {
        match &mut self.state {
            State::Attached { ask_at } => *ask_at = Some(now),
            State::Lost { until } => *until = (*until).min(now),
            State::Asking { .. } => {}
        }
    }

    /// Handles the loss of a connection that the bus did not cause: another one may be opened at
    /// once.
    pub(super) fn handle_moved(&mut self, now: Millis) {
        if !self.is_lost() {
            self.asks_again = false;
            self.state = State::Lost { until: now };
        }
    }

    /// Handles the move away from another's connection: a new one is opened soon. Many links may
    /// move at once, so their attempts are spread.
    pub(super) fn reconnect_soon(&mut self, now: Millis, random: f64) {
        self.asks_again = false;
        self.state = State::Lost {
            until: now + backoff::after_absence(Millis(0), false, random),
        };
    }

    /// Handles the loss of the connection. Returns whether the bus was available before.
    pub(super) fn handle_lost(&mut self, now: Millis, random: f64, is_overloaded: bool) -> bool {
        if self.is_lost() {
            return false;
        }
        let is_news = !self.is_away();
        let away = now - *self.away_since.get_or_insert(now);
        self.asks_again = false;
        self.state = State::Lost {
            until: now + backoff::after_absence(away, is_overloaded, random),
        };
        is_news
    }

    /// Handles the timeouts that are due. Returns whether the bus was available before, and is not
    /// any more.
    pub(super) fn handle_timeout(&mut self, now: Millis, random: f64, may_probe: bool) -> bool {
        match self.state {
            State::Asking { until } if until <= now => {
                self.is_stale = true;
                return self.handle_lost(now, random, false);
            }
            State::Attached { ask_at: None } if may_probe => {
                let ask_at = self.probe_at().filter(|at| *at <= now);
                self.state = State::Attached { ask_at };
            }
            _ => {}
        }
        false
    }

    pub(super) fn poll_call(&mut self, now: Millis) -> Option<BusCall> {
        if core::mem::take(&mut self.is_stale) {
            return Some(BusCall::Leave);
        }
        let call = match self.state {
            State::Attached { ask_at: Some(at) } if at <= now => BusCall::Ask,
            State::Lost { until } if until <= now => BusCall::Attach,
            _ => return None,
        };
        if call == BusCall::Ask {
            self.asked_at = Some(now);
        }
        self.state = State::Asking {
            until: now + self.limits.attach,
        };
        Some(call)
    }

    pub(super) fn poll_timeout(&self, may_probe: bool) -> Option<Millis> {
        if self.is_stale {
            return Some(Millis(0));
        }
        match self.state {
            State::Attached { ask_at } => ask_at.or_else(|| self.probe_at().filter(|_| may_probe)),
            State::Asking { until } | State::Lost { until } => Some(until),
        }
    }

    fn probe_at(&self) -> Option<Millis> {
        let is_wanted = self.limits.probe_interval > Millis(0);
        is_wanted.then(|| self.certain_at + self.limits.probe_interval)
    }

    /// Returns when to ask next. The spacing prevents endless questions about a gap that a reply
    /// cannot close.
    fn next_ask(&self, now: Millis) -> Millis {
        let earliest = self.asked_at.map(|at| at + ASK_SPACING);
        earliest.unwrap_or(now).max(now)
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            attach: Duration::from_secs(5),
            probe_interval: Duration::ZERO,
        }
    }
}

impl From<Timeouts> for WaitLimits {
    fn from(timeouts: Timeouts) -> Self {
        Self {
            attach: timeouts.attach.into(),
            probe_interval: timeouts.probe_interval.into(),
        }
    }
}

/// The shortest time between two questions.
const ASK_SPACING: Millis = Millis(1_000);
