use mcp_listen::bus::ShardId;

/// A call or a reply.
#[derive(Clone, Debug)]
pub(crate) enum Mail {
    Batch(ShardId, Call, String),
    BatchAck(ShardId, Call, String),
    Follow(ShardId, u64, String),
    Reply(ShardId, u64, String),
    /// A call about a session, and its confirmation.
    SessionCall(ShardId, u32, String),
    Done(ShardId, u32),
}

/// A call of a root: after a restart, it waits for no reply to earlier calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) life: usize,
    pub(crate) number: u32,
}

impl Mail {
    /// The shard that it is from or to.
    pub(crate) fn shard(&self) -> ShardId {
        match self {
            Self::Batch(shard, ..)
            | Self::BatchAck(shard, ..)
            | Self::Follow(shard, ..)
            | Self::Reply(shard, ..)
            | Self::SessionCall(shard, ..)
            | Self::Done(shard, ..) => *shard,
        }
    }
}
