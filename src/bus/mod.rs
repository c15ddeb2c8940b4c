//! The bus: what was published, who wants to hear it, and the words between bus and edge.

mod change;
mod delivery;
mod edges;
mod follow_reply;
mod hub;
mod index;
mod key;
mod low;
mod member;
mod outbox;
mod pause;
mod placement;
mod post;
mod protocol;
mod recent;
mod replay;
mod root;
mod shard;
mod shard_protocol;
mod wants;

pub use crate::position::{Mark, Position};
pub use change::{BatchCall, Change};
pub use delivery::Delivery;
pub use follow_reply::FollowReply;
pub use hub::{Hub, Publication, Received};
pub use index::{EdgeId, Index};
pub use key::Key;
pub use placement::{Home, ShardId};
pub use protocol::{Attach, BusMessage, EdgeMessage, Interest, Place, ProtocolError};
pub use replay::Replay;
pub use root::Root;
pub use shard::{FollowCall, Parting, Shard, ShardOutput, ShardReceived};
pub use shard_protocol::{
    Batch, Follow, FollowAnswer, Followed, Missed, SessionCall, Taken, Watched,
};
