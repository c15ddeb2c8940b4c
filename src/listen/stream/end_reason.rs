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
