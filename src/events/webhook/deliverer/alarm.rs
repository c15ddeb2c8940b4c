use crate::clock::Millis;

use super::in_flight::MAX_WAIT;

/// The alarm of the host.
#[derive(Debug)]
pub(super) struct Alarm {
    at: Option<Millis>,
    /// When the host has to be woken if it loses what is under way.
    watchdog: Option<Millis>,
    /// Whether something may have been under way before this deliverer was made.
    is_inherited: bool,
}

impl Alarm {
    /// Takes over an alarm that is set.
    pub(super) fn inherit(at: Option<Millis>) -> Self {
        Self {
            at,
            watchdog: None,
            is_inherited: at.is_some(),
        }
    }

    /// Handles that it went off. Returns whether the deliverer has to find out what its predecessor
    /// left behind.
    pub(super) fn handle_fired(&mut self) -> bool {
        self.at = None;
        self.watchdog = None;
        core::mem::take(&mut self.is_inherited)
    }

    /// Sets the alarm to when something is due, or when what is under way is overdue. Returns the
    /// new time if it differs; an earlier alarm stays set while something is under way. An alarm
    /// that has not gone off for long after its time is set again: the host may have lost it.
    #[expect(clippy::option_option, reason = "no change and no alarm differ")]
    pub(super) fn set(
        &mut self,
        due: Option<Millis>,
        is_busy: bool,
        now: Millis,
    ) -> Option<Option<Millis>> {
        let is_near = self.watchdog.is_none_or(|at| at < now + MARGIN);
        self.watchdog = match self.watchdog {
            _ if !is_busy => None,
            _ if is_near => Some(now + MAX_WAIT),
            watchdog => watchdog,
        };
        let former = self.at.filter(|_| self.is_inherited);
        let next = due.into_iter().chain(self.watchdog).chain(former).min();
        let set = self.at.filter(|at| now < *at + MAX_OVERDUE);
        let is_earlier = next.is_some_and(|next| set.is_none_or(|at| next < at));
        let is_changed = is_earlier || (!is_busy && next != set);
        is_changed.then(|| {
            self.at = next.map(|at| at.max(now));
            self.at
        })
    }
}

/// The watchdog is set again if it is nearer than this.
const MARGIN: Millis = Millis(11_000);
/// An alarm that has not gone off for this long after its time may be lost.
const MAX_OVERDUE: Millis = Millis(5_000);
