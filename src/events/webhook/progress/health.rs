use serde::{Deserialize, Serialize};

use crate::clock::Millis;

use super::super::{
    outcome::Failure,
    schedule::{MAX_FAILURES, PROBE_INTERVAL, with_jitter},
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
    /// When the next probe is sent while the endpoint is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probe_at: Option<Millis>,
    /// The probes since the endpoint went down.
    #[serde(skip)]
    probes: usize,
}

impl Health {
    /// Whether no failure is known.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the endpoint is down: one message at a time is sent as a probe.
    pub(super) fn is_down(&self) -> bool {
        self.failures >= MAX_FAILURES
    }

    /// Whether the last message was accepted.
    pub(super) fn is_up(&self) -> bool {
        self.failures == 0
    }

    pub(super) fn failing_since(&self) -> Option<Millis> {
        self.failing_since
    }

    pub(super) fn last_failure(&self) -> Option<Failure> {
        self.last_failure
    }

    /// Returns when the next probe is sent while the endpoint is down.
    pub(super) fn probe_at(&self) -> Millis {
        self.probe_at.unwrap_or_default()
    }

    /// Whether the next probe is not the oldest message, but another one.
    pub(super) fn probes_other_next(&self) -> bool {
        self.probes % 2 == 1
    }

    pub(super) fn succeed(&mut self) {
        *self = Self::default();
    }

    /// Notes that the endpoint has rejected a message, which says nothing about other messages.
    pub(super) fn reject(&mut self, failure: Failure) {
        self.last_failure = Some(failure);
    }

    /// Notes a failure; an excused one does not count against the endpoint. While the endpoint is
    /// down, the next probe is due within a minute. If several messages wait, probes come twice as
    /// often, and every other one is the oldest message.
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
            let pause = Millis(PROBE_INTERVAL.0 / waiting.clamp(1, 2) as u64);
            self.probe_at = Some(now + with_jitter(pause, random));
        }
    }

    /// Makes the next probe due now.
    pub(super) fn probe_now(&mut self) {
        self.probe_at = None;
    }
}
