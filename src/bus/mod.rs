//! The bus: what was published, who wants to hear it, and the words between bus and edge.

mod adjust;
mod change;
mod delivery;
mod edges;
mod follow_reply;
mod frames;
mod hub;
mod interest;
mod kept;
mod low;
mod member;
mod outbox;
mod pause;
mod placement;
mod post;
mod protocol;
mod recent;
mod replay;
mod room;
mod root;
mod shard;
mod shard_protocol;
mod told_room;
mod wants;

pub use crate::position::{Mark, Position};
pub use adjust::Adjust;
pub use change::{BatchCall, Change};
pub use delivery::Delivery;
pub use edges::EdgeId;
pub(crate) use edges::Edges;
pub use follow_reply::FollowReply;
pub use hub::{Hub, Publication, Received};
pub use interest::Interest;
pub use placement::{Home, ShardId};
pub use protocol::{Attach, BusMessage, EdgeMessage, Place, ProtocolError};
pub use replay::Replay;
pub use room::Room;
pub use root::Root;
pub use shard::{FollowCall, Parting, Shard, ShardOutput, ShardReceived};
pub use shard_protocol::{
    Batch, Follow, FollowAnswer, Followed, Missed, SessionCall, Taken, Watched,
};
pub(crate) use told_room::ToldRoom;
pub(crate) use wants::{Turn, Wants};
