//! The messages between edges, shards and their bus: JSON text, one message per WebSocket frame or
//! call, each with the version `"v":1`.
//!
//! A receiver of events *follows* topics and gets a reply; later events arrive in *batches*. An
//! edge sends its messages over its WebSocket, a shard by calls to its root. Receivers ignore
//! unknown members and drop messages of an unknown version or type, so either side may be newer
//! than the other.

mod batch;
mod claim;
mod codec;
mod envelope;
mod error;
mod follow;
mod followed;
mod message;
mod session_call;
mod stored_topics;

pub use batch::{Batch, BatchAck};
pub use claim::Claim;
pub use error::ProtocolError;
pub use follow::Follow;
pub use followed::{Backlog, FollowResponse, Followed, SessionInterest};
pub use message::{BusMessage, EdgeMessage};
pub use session_call::SessionCall;
pub use stored_topics::{decode_topics, encode_topics};
