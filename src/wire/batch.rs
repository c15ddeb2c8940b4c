use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    clock::Millis,
    json::Node,
    vocabulary::{
        event::ServerEvent,
        position::{Cursor, Position},
    },
};

use super::{
    codec::{PositionedEvent, entries, events_in, is_unset},
    envelope::{members, message, read},
    error::ProtocolError,
};

/// Published events of the topics that the receiver follows. A shard gets one batch at a time and
/// replies with [`BatchAck`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Batch {
    /// The epoch of the log, for a shard; `None` for an edge, which knows it from its connection.
    pub epoch: Option<Box<str>>,
    /// Where the previous batch ended, or the position in the reply to a fresh follow. A receiver
    /// that has not reached it has missed something. `None`: the bus does not know; for a shard,
    /// the bus has restarted and guarantees that nothing is left out.
    pub previous: Option<Position>,
    /// The receiver has every event that it follows up to here once it has this batch.
    pub through: Position,
    /// When the oldest of its events was published, in milliseconds since 1970 on the clock of the
    /// bus; `None` if unknown.
    pub at: Option<Millis>,
    /// The events. The reader omits those of an unknown kind.
    #[serde(skip)]
    pub events: Vec<(Position, ServerEvent)>,
    /// The shard has to close all of its edges, permanently.
    #[serde(rename = "last", default)]
    pub is_last: bool,
}

/// The reply of a shard to a [`Batch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchAck {
    /// The number of edges that the shard holds.
    #[serde(default)]
    pub edges: u32,
    /// The shard has closed its edges and accepts no more.
    #[serde(rename = "retired", default, skip_serializing_if = "is_unset")]
    pub is_retired: bool,
}

/// The serialized form, with events that are JSON texts already.
#[derive(Serialize)]
#[serde(bound(serialize = "T: AsRef<str>"))]
struct Members<'m, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<Position>,
    through: Position,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Millis>,
    events: Vec<PositionedEvent<T>>,
    #[serde(rename = "last", skip_serializing_if = "is_unset")]
    is_last: bool,
}

impl Batch {
    /// Reads a message.
    ///
    /// # Errors
    /// A [`ProtocolError`]; nothing has changed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        Self::from_node(&read(text, BATCH)?.root)
    }

    pub(super) fn from_node(root: &Node<'_>) -> Result<Self, ProtocolError> {
        Ok(Self {
            events: events_in(root)?,
            ..members(root)?
        })
    }

    /// Returns a batch for a shard as text. It ends at `cursor`; the events are JSON texts already.
    pub fn for_shard<T: AsRef<str>>(
        cursor: &Cursor,
        previous: Option<Position>,
        at: Option<Millis>,
        events: impl Iterator<Item = (Position, T)>,
        is_last: bool,
    ) -> String {
        let members = Members {
            epoch: Some(&cursor.epoch),
            previous,
            through: cursor.position,
            at,
            events: entries(events),
            is_last,
        };
        message(BATCH, &members)
    }

    /// Returns a batch for an edge as text. It ends at `through`; the events are JSON texts
    /// already.
    pub fn for_edge<T: AsRef<str>>(
        previous: Option<Position>,
        through: Position,
        at: Option<Millis>,
        events: impl Iterator<Item = (Position, T)>,
    ) -> String {
        let members = Members {
            epoch: None,
            previous,
            through,
            at,
            events: entries(events),
            is_last: false,
        };
        message(BATCH, &members)
    }
}

impl BatchAck {
    /// Reads a reply.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call counts as failed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        members(&read(text, ACK)?.root)
    }

    /// Returns the reply as text.
    pub fn to_json(self) -> String {
        message(ACK, &self)
    }
}

pub(super) const BATCH: &str = "batch";
const ACK: &str = "ack";
