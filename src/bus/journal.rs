use alloc::{boxed::Box, string::String, vec::Vec};

use crate::vocabulary::position::Position;

use crate::vocabulary::topic::Topic;

use super::placement::ShardId;

/// A change that has to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalEntry {
    /// A shard was opened.
    Opened {
        /// The shard.
        shard: ShardId,
        /// The continent of the edges that it was opened for.
        continent: Box<str>,
    },
    /// A shard accepts no more edges and will be closed.
    Leaving(ShardId),
    /// A shard was closed; nothing about it has to be stored any more.
    Closed(ShardId),
    /// The topics of a shard have changed.
    Follows {
        /// The shard.
        shard: ShardId,
        /// The number of the call.
        seq: u64,
        /// Whether this replaces all earlier topics.
        is_fresh: bool,
        /// The topics that are added.
        add: Vec<Topic>,
        /// The topics that are dropped.
        drop: Vec<Topic>,
    },
    /// Every shard has received the events up to this position.
    Settled(Position),
}

/// A batch for a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchCall {
    /// The shard.
    pub shard: ShardId,
    /// The number of the call, for its reply.
    pub call: u32,
    /// The batch as text.
    pub text: String,
}
