use std::cell::Cell;

/// A bug in what is around the core, to be planted like those of [`mcp_listen::seeded`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slip {
    /// A bus that sleeps forgets what it sent last.
    ForgetsWhatItSent,
    /// The bus is not told what the log has let go of.
    KeepsTheFloor,
    /// A bus that wakes gives its last position out again.
    RepeatsAPosition,
    /// A replay is read from one event too late.
    ReplaysTooLate,
    /// An event is sent before it is on disk.
    SendsBeforeItWrites,
    /// The bus is not told who left.
    KeepsWhoLeft,
    /// The stream of a session does not follow what the session watches.
    FollowsNoSession,
    /// An edge is not told how often to verify.
    NeverVerifies,
}

pub(crate) fn has(slip: Slip) -> bool {
    PLANTED.get() == Some(slip)
}

/// Plants a bug in this thread, in place of any other.
#[cfg(feature = "planted")]
pub(crate) fn plant(slip: Option<Slip>) {
    PLANTED.set(slip);
}

std::thread_local! {
    static PLANTED: Cell<Option<Slip>> = const { Cell::new(None) };
}
