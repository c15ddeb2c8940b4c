use crate::clock::Millis;

use super::end_reason::EndReason;

/// The deadlines at which a stream ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lifetime {
    stall: Option<Millis>,
    blocked_since: Option<Millis>,
    retirement: Option<(Millis, EndReason)>,
    expiry: Option<Millis>,
}

impl Lifetime {
    pub(crate) fn stall_after(&mut self, span: Millis) {
        self.stall = (span > Millis(0)).then_some(span);
    }

    /// Schedules a retirement; the earliest one applies.
    pub(crate) fn retire_at(&mut self, at: Millis, why: EndReason) {
        if self.retirement.is_none_or(|(planned, _)| at < planned) {
            self.retirement = Some((at, why));
        }
    }

    pub(crate) fn expire_at(&mut self, at: Millis) {
        self.expiry = Some(at);
    }

    pub(crate) fn never_expire(&mut self) {
        self.expiry = None;
    }

    pub(crate) fn has_expired(&self, now: Millis) -> bool {
        self.expiry.is_some_and(|at| at <= now)
    }

    pub(crate) fn handle_blocked(&mut self, now: Millis) {
        self.blocked_since.get_or_insert(now);
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked_since.is_some()
    }

    pub(crate) fn handle_polled(&mut self) {
        self.blocked_since = None;
    }

    /// Whether the client has read nothing for too long.
    pub(crate) fn is_stalled(&self, now: Millis) -> bool {
        self.stalls_at().is_some_and(|at| at <= now)
    }

    /// Returns the retirement that is due, once.
    pub(crate) fn take_retirement(&mut self, now: Millis) -> Option<EndReason> {
        let (_, why) = self.retirement.take_if(|(at, _)| *at <= now)?;
        Some(why)
    }

    pub(crate) fn deadline(&self) -> Option<Millis> {
        let retires_at = self.retirement.map(|(at, _)| at);
        let deadlines = [self.stalls_at(), retires_at, self.expiry];
        deadlines.into_iter().flatten().min()
    }

    fn stalls_at(&self) -> Option<Millis> {
        Some(self.blocked_since? + self.stall?)
    }
}
