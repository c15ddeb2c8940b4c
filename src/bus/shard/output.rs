use alloc::string::String;

use crate::{
    bus::{
        follow_reply::Keeps,
        registry::{Delivery, EdgeId},
    },
    vocabulary::topic::Delta,
    wire::Claim,
};

/// What an edge's frame led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardReceived {
    /// The edge follows something else from now on; it is answered once that is followed here.
    Followed {
        /// What to keep of it.
        keeps: Keeps,
        /// The session whose stream it is, where all that it follows is new.
        session: Option<Claim>,
    },
    /// The edge asked to be let go; it is no longer known.
    Detached,
}

/// What a shard wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardOutput {
    /// A frame to send.
    Send(Delivery),
    /// All that is kept of an edge, [`Registry::kept`](crate::bus::Registry::kept), has changed.
    Keep(EdgeId),
    /// What is kept of an edge has changed by this.
    Change(EdgeId, Delta),
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
