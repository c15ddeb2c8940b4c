use alloc::string::String;

use crate::{
    bus::{
        follow_reply::Persist,
        registry::{Delivery, EdgeId},
    },
    vocabulary::topic::Delta,
    wire::Claim,
};

/// The result of an edge's frame.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardReceived {
    /// The edge's topics have changed; it gets its reply once the root follows them.
    Followed {
        /// What to store for the edge.
        persist: Persist,
        /// The session whose stream it is, for a fresh follow.
        session: Option<Claim>,
    },
    /// The edge has detached and was removed.
    Detached,
}

/// An output of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardOutput {
    /// Send a frame.
    Send(Delivery),
    /// Store everything that [`Registry::stored_topics`](crate::bus::Registry::stored_topics)
    /// returns for an edge.
    PersistAll(EdgeId),
    /// Store this change for an edge.
    PersistChange(EdgeId, Delta),
    /// Close a connection, which the shard has removed.
    Close(EdgeId, EdgeCloseReason),
    /// The call with this ticket, of
    /// [`Shard::handle_session_call`](super::Shard::handle_session_call), is done.
    Done(u32),
}

/// The reason why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EdgeCloseReason {
    /// The edge may have missed events and has to reconnect with its cursor.
    Lost,
    /// This shard is closed: the edge has to ask the root for another one.
    Redirected,
    /// There is no room for the edge's topics.
    Full,
    /// The stream has ended: its session has ended or has another stream.
    Over,
}

impl EdgeCloseReason {
    /// Returns the name of the reason.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Redirected => "redirected",
            Self::Full => "full",
            Self::Over => "over",
        }
    }
}

/// A call to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FollowCall {
    /// The number of the call, for its reply.
    pub seq: u64,
    /// The call as text.
    pub text: String,
}
