use alloc::{boxed::Box, string::String, vec::Vec};

use crate::vocabulary::position::Position;

use crate::vocabulary::topic::Topic;

use super::placement::ShardId;

/// What has to be made durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// There is one more shard.
    Opened {
        /// Which.
        shard: ShardId,
        /// Where the edges are that it was opened for.
        continent: Box<str>,
    },
    /// A shard takes no more edges and will be closed.
    Leaving(ShardId),
    /// There is one shard less; nothing of it needs to be kept.
    Closed(ShardId),
    /// What a shard follows has changed.
    Follows {
        /// Which.
        shard: ShardId,
        /// The number of the call.
        seq: u64,
        /// Whether nothing holds that it followed before.
        is_fresh: bool,
        /// What it follows too.
        add: Vec<Topic>,
        /// What it follows no more.
        drop: Vec<Topic>,
    },
    /// Every shard has taken what was published up to here.
    Settled(Position),
}

/// One call to a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchCall {
    /// To which.
    pub shard: ShardId,
    /// The number of the call, for its answer.
    pub call: u32,
    /// What to tell it.
    pub text: String,
}
