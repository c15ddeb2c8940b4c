use crate::clock::Millis;

use super::ServerStream;

/// Why a stream ended. Only a graceful end has a result: to the client every other end looks like a
/// drop, after which it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// The server closed it: everything was sent, the result too.
    Closed,
    /// Its client read nothing for too long.
    Stalled,
    /// It reached its maximum age.
    Rotated,
    /// The server drains its streams, so that clients reconnect elsewhere.
    Drained,
    /// The bus object no longer serves the deployment that holds it.
    Outdated,
    /// Its request, and every other that shares the connection, has spent its write budget.
    Exhausted,
    /// States of its tasks may have been lost, and cannot be reconstructed from a cue.
    Lost,
    /// The credentials of its caller have expired.
    Expired,
    /// Its caller lost access to what was honored, or could not be authorized.
    Denied,
    /// The host gave it up: the bus is gone, or the client is.
    Aborted,
}

impl EndReason {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Stalled => "stalled",
            Self::Rotated => "rotated",
            Self::Drained => "drained",
            Self::Outdated => "outdated",
            Self::Exhausted => "exhausted",
            Self::Lost => "lost",
            Self::Expired => "expired",
            Self::Denied => "denied",
            Self::Aborted => "aborted",
        }
    }
}

/// Closing of a stream by its host.
impl ServerStream {
    /// Ends the stream gracefully: pending cues are sent, then the result of the listen request. A
    /// stream that was never registered just ends, and one that already ends without a result
    /// continues to do so. Write all remaining output at once: see [`ServerStream::is_frozen`].
    pub fn close(&mut self) {
        self.is_frozen = true;
        self.drain(EndReason::Closed);
    }

    /// Whether the host has to write all remaining output at once, regardless of room: the stream
    /// was closed, so nothing is added any more, and the client can read it later.
    pub fn is_frozen(&self) -> bool {
        self.is_frozen
    }
}

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
