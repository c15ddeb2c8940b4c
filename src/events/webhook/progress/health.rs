use serde::{Deserialize, Serialize};

use crate::clock::Millis;

use super::super::{
    outcome::Failure,
    schedule::{MAX_FAILURES, PROBE, spread},
};

/// Whether an endpoint accepts messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Health {
    /// The failures in a row.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    failures: u32,
    /// When the first of them happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failing_since: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_failure: Option<Failure>,
    /// When the next message is tried while the endpoint is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probe_at: Option<Millis>,
    /// The probes since the endpoint is down.
    #[serde(skip)]
    probes: usize,
}

impl Health {
    /// Whether nothing ever failed, as far as it is known.
    pub(super) fn is_spotless(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the endpoint is down: one message at a time is tried.
    pub(super) fn is_down(&self) -> bool {
        self.failures >= MAX_FAILURES
    }

    /// Whether the last message was accepted.
    pub(super) fn is_good(&self) -> bool {
        self.failures == 0
    }

    pub(super) fn failing_since(&self) -> Option<Millis> {
        self.failing_since
    }

    pub(super) fn last_failure(&self) -> Option<Failure> {
        self.last_failure
    }

    /// Returns when the next message is tried while the endpoint is down.
    pub(super) fn probe_at(&self) -> Millis {
        self.probe_at.unwrap_or_default()
    }

    /// Whether the next of these is another message than the oldest one.
    pub(super) fn is_other_next(&self) -> bool {
        self.probes % 2 == 1
    }

    pub(super) fn succeed(&mut self) {
        *self = Self::default();
    }

    /// Notes that the endpoint did not want a message, which says nothing about other messages.
    pub(super) fn decline(&mut self, failure: Failure) {
        self.last_failure = Some(failure);
    }

    /// Notes a failure; one that is excused says nothing about the endpoint. While the endpoint is
    /// down, the next message is tried within a minute; if several wait, the oldest is every other
    /// one of them, and so twice as many are tried.
    pub(super) fn fail(
        &mut self,
        (failure, is_excused): (Failure, bool),
        waiting: usize,
        now: Millis,
        random: f64,
    ) {
        let was_down = self.is_down();
        self.last_failure = Some(failure);
        if !is_excused {
            self.failures = self.failures.saturating_add(1);
            self.failing_since.get_or_insert(now);
        }
        if self.is_down() {
            self.probes = if was_down { self.probes + 1 } else { 0 };
            let pause = Millis(PROBE.0 / waiting.clamp(1, 2) as u64);
            self.probe_at = Some(now + spread(pause, random));
        }
    }

    /// Has a message tried now although the endpoint is down.
    pub(super) fn hurry(&mut self) {
        self.probe_at = None;
    }
}
