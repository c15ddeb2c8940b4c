//! The messages between a root and its shards: JSON text, one message a call and one an answer,
//! each with the version `"v":1`. A receiver ignores members that it does not know; a call
//! whose version or type it does not know fails, and whoever made it makes it again later.

use std::sync::Arc;

use crate::{
    clock::Millis,
    event::ServerEvent,
    json::{self, Node},
    position::{Mark, Position},
    topic::Topic,
    uri::Uri,
};

use super::{
    member::{
        closed, count_in, events_in, is_set, items_in, number_in, opened, optional, parse,
        position_in, push_events, push_flag, push_list, push_name, push_number, push_position,
        push_room, push_text, push_texts, push_topics, read, room_in, text_in, texts_in, topics_in,
        watch_in,
    },
    protocol::ProtocolError,
};

/// What a shard asks of its root. Answered with a [`FollowAnswer`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Follow {
    /// Counts the calls of one shard; the root passes over one that comes after a later one.
    pub seq: u64,
    /// The shard has begun anew: nothing that it said before holds.
    pub is_fresh: bool,
    /// How many edges it holds.
    pub edges: u32,
    /// Those are few, and have been for a while.
    pub is_low: bool,
    /// Send me the events of these topics too.
    pub add: Vec<Topic>,
    /// Send me the events of these topics no more.
    pub drop: Vec<Topic>,
    /// Tell me what I follow and was published after this position, collapsed.
    pub since: Option<Position>,
    /// The streams of these sessions are here: tell me what they watch.
    pub joined: Vec<Box<str>>,
    /// The streams of these sessions were here and are gone.
    pub left: Vec<Box<str>>,
}

/// What a root answers to [`Follow`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowAnswer {
    /// It is done.
    Followed(Followed),
    /// A later call of this shard has come before; `seq` is its number.
    Stale {
        /// The highest number that the root has seen.
        seq: u64,
    },
    /// There is no room for what the call adds: nothing has changed.
    Full {
        /// As [`Followed::room`].
        room: usize,
    },
    /// The root has no such shard, or no longer.
    Unknown,
}

/// What a shard learns from its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Every event after this mark whose topic the shard follows will be sent to it.
    pub mark: Mark,
    /// The shard has taken everything up to that mark.
    pub is_settled: bool,
    /// What was asked for with [`Follow::since`].
    pub missed: Option<Missed>,
    /// The sessions whose streams joined; one that is over is left out.
    pub watches: Vec<Watched>,
    /// Bytes that the names of all that the shard follows may count; `None`: there are no bounds.
    pub room: Option<usize>,
}

/// What a root knows of a session whose stream is at a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Which session.
    pub session: Box<str>,
    /// The resources that it watches.
    pub uris: Vec<Uri>,
    /// Its client is not ready to hear of anything.
    pub is_held: bool,
}

/// What was published after a position, collapsed: of each topic the last event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Nothing after this position is left out; later than asked for where the log does not reach back so far.
    pub after: Position,
    /// The events, in the order of their positions.
    pub events: Vec<(Position, ServerEvent)>,
}

/// What a root sends to a shard, one at a time. Answered with [`Taken`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Which log.
    pub epoch: Box<str>,
    /// Where the batch before it ended; `None`: the root has begun anew, and vouches that nothing is left out.
    pub previous: Option<Position>,
    /// With this batch, the shard has every event that it follows up to here.
    pub through: Position,
    /// When the oldest of its events was published, in milliseconds since 1970; `None`: nobody says.
    pub at: Option<Millis>,
    /// Events whose topics the shard follows.
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

/// What a root tells a shard of a session whose stream is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionCall {
    /// What it watches has changed: join it again, to be told.
    Changed(Box<str>),
    /// Its stream is to be let go: it is over, or has another one.
    Release(Box<str>),
}

impl Follow {
    /// Reads one call.
    ///
    /// # Errors
    /// A [`ProtocolError`]; nothing has changed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = read(text, "follow")?;
        let root = &document.root;
        Ok(Self {
            seq: number_in(root, "seq")?,
            is_fresh: is_set(root, "fresh"),
            edges: count_in(root, "edges")?,
            is_low: is_set(root, "low"),
            add: topics_in(root, "add")?,
            drop: topics_in(root, "drop")?,
            since: optional(root, "since")?.map(Position),
            joined: texts_in(root, "joined")?,
            left: texts_in(root, "left")?,
        })
    }

    /// The call as text.
    pub fn to_json(&self) -> String {
        let mut out = opened("follow");
        push_number(&mut out, "seq", self.seq);
        push_flag(&mut out, "fresh", self.is_fresh);
        push_number(&mut out, "edges", self.edges.into());
        push_flag(&mut out, "low", self.is_low);
        push_topics(&mut out, "add", &self.add);
        push_topics(&mut out, "drop", &self.drop);
        push_position(&mut out, "since", self.since);
        push_texts(&mut out, "joined", self.joined.iter().map(|id| &**id));
        push_texts(&mut out, "left", self.left.iter().map(|id| &**id));
        closed(out)
    }
}

impl FollowAnswer {
    /// Reads one answer.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call counts as failed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = parse(text)?;
        let root = &document.root;
        match text_in(root, "type")? {
            "followed" => Followed::from_node(root).map(Self::Followed),
            "stale" => Ok(Self::Stale {
                seq: number_in(root, "seq")?,
            }),
            "full" => Ok(Self::Full {
                room: room_in(root)?.unwrap_or_default(),
            }),
            "unknown" => Ok(Self::Unknown),
            _ => Err(ProtocolError::UnknownType),
        }
    }

    /// The answer as text.
    pub fn to_json(&self) -> String {
        match self {
            Self::Followed(followed) => followed.to_json(),
            Self::Stale { seq } => {
                let mut out = opened("stale");
                push_number(&mut out, "seq", *seq);
                closed(out)
            }
            Self::Full { room } => {
                let mut out = opened("full");
                push_room(&mut out, *room);
                closed(out)
            }
            Self::Unknown => closed(opened("unknown")),
        }
    }
}

impl Followed {
    fn from_node(root: &Node<'_>) -> Result<Self, ProtocolError> {
        let after = optional(root, "after")?.map(Position);
        Ok(Self {
            mark: Mark {
                epoch: text_in(root, "epoch")?.into(),
                position: position_in(root)?,
            },
            is_settled: is_set(root, "settled"),
            missed: match after {
                Some(after) => Some(Missed {
                    after,
                    events: events_in(root)?,
                }),
                None => None,
            },
            watches: items_in(root, "watches")
                .iter()
                .map(watch_in)
                .collect::<Result<_, _>>()?,
            room: room_in(root)?,
        })
    }

    fn to_json(&self) -> String {
        let mut out = opened("followed");
        push_text(&mut out, "epoch", &self.mark.epoch);
        push_number(&mut out, "position", self.mark.position.0);
        push_flag(&mut out, "settled", self.is_settled);
        if let Some(room) = self.room {
            push_room(&mut out, room);
        }
        if let Some(missed) = &self.missed {
            push_number(&mut out, "after", missed.after.0);
            let events = missed.events.iter();
            push_events(&mut out, events.map(|(at, event)| (*at, event.to_json())));
        }
        if !self.watches.is_empty() {
            push_name(&mut out, "watches");
            push_list(&mut out, self.watches.iter(), |out, watched| {
                out.push_str("{\"session\":");
                json::push_string(out, &watched.session);
                push_texts(out, "uris", watched.uris.iter().map(|uri| &**uri));
                push_flag(out, "held", watched.is_held);
                out.push('}');
            });
        }
        closed(out)
    }
}

impl Batch {
    /// Reads one call.
    ///
    /// # Errors
    /// A [`ProtocolError`]; nothing has changed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = read(text, "batch")?;
        let root = &document.root;
        Ok(Self {
            epoch: text_in(root, "epoch")?.into(),
            previous: optional(root, "previous")?.map(Position),
            through: Position(number_in(root, "through")?),
            at: optional(root, "at")?.map(Millis),
            events: events_in(root)?,
            is_last: is_set(root, "last"),
        })
    }

    /// The text of a batch that ends at `mark`, for events that are JSON texts already.
    pub fn write(
        mark: &Mark,
        previous: Option<Position>,
        at: Option<Millis>,
        events: &[(Position, Arc<str>)],
        is_last: bool,
    ) -> String {
        let mut out = opened("batch");
        push_text(&mut out, "epoch", &mark.epoch);
        push_position(&mut out, "previous", previous);
        push_number(&mut out, "through", mark.position.0);
        if let Some(at) = at {
            push_number(&mut out, "at", at.0);
        }
        push_events(&mut out, events.iter().map(|(at, event)| (*at, event)));
        push_flag(&mut out, "last", is_last);
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

impl SessionCall {
    /// Reads one call.
    ///
    /// # Errors
    /// A [`ProtocolError`]; nothing has changed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = parse(text)?;
        let root = &document.root;
        let session = text_in(root, "session")?.into();
        match text_in(root, "type")? {
            "changed" => Ok(Self::Changed(session)),
            "release" => Ok(Self::Release(session)),
            _ => Err(ProtocolError::UnknownType),
        }
    }

    /// The call as text.
    pub fn to_json(&self) -> String {
        let (kind, session) = match self {
            Self::Changed(session) => ("changed", session),
            Self::Release(session) => ("release", session),
        };
        let mut out = opened(kind);
        push_text(&mut out, "session", session);
        closed(out)
    }
}
