use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    clock::Millis,
    json::Node,
    vocabulary::{
        event::ServerEvent,
        position::{Mark, Position},
    },
};

use super::{
    envelope::{members, message, read},
    error::ProtocolError,
    member::{Entry, entries, events_in, is_unset},
};

/// What was published, of what is followed. A shard gets one at a time, and answers with [`Taken`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Batch {
    /// Which log, where a shard is told; an edge knows it by its connection.
    pub epoch: Option<Box<str>>,
    /// Where the batch before it ended, or what a fresh follow was answered with. Whose place is another one has missed something. `None`: the
    /// bus cannot tell; to a shard, it has begun anew and vouches that nothing is left out.
    pub previous: Option<Position>,
    /// With this batch everything has come that is followed, up to here.
    pub through: Position,
    /// When the oldest of its events was published, in milliseconds since 1970 on the clock of the bus; `None`: nobody says.
    pub at: Option<Millis>,
    /// The events. Those of a kind that is not known are left out when it is read.
    #[serde(skip)]
    pub events: Vec<(Position, ServerEvent)>,
    /// The shard has to let all of its edges go, for good.
    #[serde(rename = "last", default)]
    pub is_last: bool,
}

/// What a shard answers to [`Batch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// How many edges it holds.
    #[serde(default)]
    pub edges: u32,
    /// It has let its edges go, and takes none.
    #[serde(rename = "retired", default, skip_serializing_if = "is_unset")]
    pub is_retired: bool,
}

/// As it is written, of events that are JSON texts already.
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
    events: Vec<Entry<T>>,
    #[serde(rename = "last", skip_serializing_if = "is_unset")]
    is_last: bool,
}

impl Batch {
    /// Reads one message.
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

    /// The text of a batch for a shard that ends at `mark`, of events that are JSON texts already.
    pub fn for_shard<T: AsRef<str>>(
        mark: &Mark,
        previous: Option<Position>,
        at: Option<Millis>,
        events: impl Iterator<Item = (Position, T)>,
        is_last: bool,
    ) -> String {
        let members = Members {
            epoch: Some(&mark.epoch),
            previous,
            through: mark.position,
            at,
            events: entries(events),
            is_last,
        };
        message(BATCH, &members)
    }

    /// The text of a batch for an edge that ends `through` a position, of events that are JSON texts already.
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

impl Taken {
    /// Reads one answer.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call counts as failed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        members(&read(text, TAKEN)?.root)
    }

    /// The answer as text.
    pub fn to_json(self) -> String {
        message(TAKEN, &self)
    }
}

pub(super) const BATCH: &str = "batch";
const TAKEN: &str = "taken";
