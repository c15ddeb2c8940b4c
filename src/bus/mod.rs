//! The bus: what was published, who wants to hear it, and the words between bus and edge.

mod delivery;
mod edges;
mod hub;
mod index;
mod key;
mod protocol;
mod replay;

pub use crate::position::{Mark, Position};
pub use delivery::Delivery;
pub use hub::{Hub, Publication, Received};
pub use index::{EdgeId, Index};
pub use key::Key;
pub use protocol::{Attach, BusMessage, EdgeMessage, Interest, Place, ProtocolError};
pub use replay::Replay;
