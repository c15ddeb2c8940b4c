use alloc::{boxed::Box, string::String, vec::Vec};

use crate::{
    clock::Millis,
    event::ServerEvent,
    json::Node,
    position::{Mark, Position},
};

use super::{
    error::ProtocolError,
    member::{
        closed, count_in, events_in, is_set, number_in, opened, optional, push_events, push_flag,
        push_number, push_position, push_text, read, text_in,
    },
};

/// What was published, of what is followed. A shard gets one at a time, and answers with [`Taken`].
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub events: Vec<(Position, ServerEvent)>,
    /// The shard has to let all of its edges go, for good.
    pub is_last: bool,
}

/// What a shard answers to [`Batch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// How many edges it holds.
    pub edges: u32,
    /// It has let its edges go, and takes none.
    pub is_retired: bool,
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
            epoch: match root.get("epoch") {
                Some(_) => Some(text_in(root, "epoch")?.into()),
                None => None,
            },
            previous: optional(root, "previous")?.map(Position),
            through: Position(number_in(root, "through")?),
            at: optional(root, "at")?.map(Millis),
            events: events_in(root)?,
            is_last: is_set(root, "last"),
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
        let mut out = opened(BATCH);
        push_text(&mut out, "epoch", &mark.epoch);
        push_members(&mut out, previous, mark.position, at, events);
        push_flag(&mut out, "last", is_last);
        closed(out)
    }

    /// The text of a batch for an edge that ends `through` a position, of events that are JSON texts already.
    pub fn for_edge<T: AsRef<str>>(
        previous: Option<Position>,
        through: Position,
        at: Option<Millis>,
        events: impl Iterator<Item = (Position, T)>,
    ) -> String {
        let mut out = opened(BATCH);
        push_members(&mut out, previous, through, at, events);
        closed(out)
    }
}

impl Taken {
    /// Reads one answer.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call counts as failed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = read(text, "taken")?;
        Ok(Self {
            edges: count_in(&document.root, "edges")?,
            is_retired: is_set(&document.root, "retired"),
        })
    }

    /// The answer as text.
    pub fn to_json(self) -> String {
        let mut out = opened("taken");
        push_number(&mut out, "edges", self.edges.into());
        push_flag(&mut out, "retired", self.is_retired);
        closed(out)
    }
}

fn push_members<T: AsRef<str>>(
    out: &mut String,
    previous: Option<Position>,
    through: Position,
    at: Option<Millis>,
    events: impl Iterator<Item = (Position, T)>,
) {
    push_position(out, "previous", previous);
    push_number(out, "through", through.0);
    if let Some(at) = at {
        push_number(out, "at", at.0);
    }
    push_events(out, events);
}

pub(super) const BATCH: &str = "batch";
