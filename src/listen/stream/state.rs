/// How far a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamState {
    /// Not registered with the bus yet: events are held, nothing may be written.
    Opening,
    /// Registered. The acknowledgment is sent before anything else.
    Open {
        is_acknowledged: bool,
    },
    /// Pending output is sent, then the end; a graceful one with the result.
    Draining {
        is_acknowledged: bool,
        is_graceful: bool,
    },
    /// Everything is written or dropped; the end has not been polled yet.
    Ending,
    Closed,
}
