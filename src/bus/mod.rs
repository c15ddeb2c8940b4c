//! The bus: what was published, who wants to hear it, and the words between bus and edge.

mod hub;
mod index;
mod position;
mod protocol;

pub use hub::{Hub, Publication, Received};
pub use index::{EdgeId, Index};
pub use position::{Mark, Position};
pub use protocol::{BusMessage, EdgeMessage, Interest, ProtocolError};
