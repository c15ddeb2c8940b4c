//! What edges, shards and their bus say to each other: JSON text, one message a frame of a WebSocket or a call, each with the
//! version `"v":1`.
//!
//! Whoever wants events *follows*, and is answered; what was published since then comes in *batches*. An edge says it over its
//! WebSocket, a shard by calls of its root. A receiver ignores members that it does not know, and drops what has a version or type that
//! it does not know, so that either side may be the newer one.

mod batch;
mod claim;
mod envelope;
mod error;
mod follow;
mod followed;
mod kept;
mod member;
mod message;
mod session_call;

pub use batch::{Batch, Taken};
pub use claim::Claim;
pub use error::ProtocolError;
pub use follow::Follow;
pub use followed::{FollowAnswer, Followed, Missed, Watched};
pub use kept::{kept, topics_of};
pub use message::{BusMessage, EdgeMessage};
pub use session_call::SessionCall;
