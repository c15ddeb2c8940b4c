use crate::bus::{adjust::Adjust, delivery::Delivery, edges::EdgeId, interest::Interest};

/// What an edge's frame led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardReceived {
    /// The edge attaches; it is answered once what it wants is followed.
    Attaching {
        /// What to keep of it, for [`Shard::restore`](super::Shard::restore).
        interest: Interest,
        /// The session whose stream it is.
        session: Option<Box<str>>,
    },
    /// The edge wants more or less from now on; it is answered once what it wants is followed.
    Adjusting {
        /// What has changed, to be kept with what the edge attached for.
        change: Adjust,
    },
    /// The edge asked to be let go; it is no longer known.
    Detached,
}

/// What a shard wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardOutput {
    /// A frame to send.
    Send(Delivery),
    /// What is kept of an edge for [`Shard::restore`](super::Shard::restore) has changed.
    Keep(EdgeId, Interest),
    /// What is kept of an edge has changed by this.
    Change(EdgeId, Adjust),
    /// A connection to close; the shard no longer knows it.
    Close(EdgeId, Parting),
    /// The call with this ticket, of [`Shard::handle_session_call`](super::Shard::handle_session_call), is done.
    Done(u32),
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// The edge may have missed something; it is to come back and say where it was.
    Lost,
    /// This shard holds no edges any more: the root has to be asked for another one.
    Moved,
    /// There is no room for what the edge wants.
    Full,
    /// The stream is over: its session has ended, or has another stream.
    Over,
}

/// One call to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowCall {
    /// The number of the call, for its answer.
    pub seq: u64,
    /// What to tell it.
    pub text: String,
}
