use alloc::{boxed::Box, string::String, vec::Vec};

use crate::{
    event::ServerEvent,
    json::{self, Node},
    position::{Mark, Position},
    uri::Uri,
};

use super::{
    error::ProtocolError,
    member::{
        closed, events_in, is_set, items_in, number_in, opened, optional, parse, position_in,
        push_events, push_flag, push_list, push_name, push_number, push_room, push_text, push_uris,
        room_in, text_in, uris_in,
    },
};

/// The answer to a [`Follow`](super::Follow).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowAnswer {
    /// It is done.
    Followed(Followed),
    /// There is no room for what it adds, and nothing of that was added. What an edge drops was dropped; of a shard nothing was heard.
    Full {
        /// As [`Followed::seq`].
        seq: u64,
        /// As [`Followed::room`].
        room: Option<usize>,
    },
    /// Something later was said before.
    Stale {
        /// The number of that.
        seq: u64,
    },
    /// The bus has no such shard, or no longer.
    Unknown,
}

/// What is followed from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Which follow it answers.
    pub seq: u64,
    /// Where the log ends. Every event after it that is followed will be sent; who waited for the answer takes nothing at or before it.
    pub mark: Mark,
    /// What was asked for with [`Follow::since`](super::Follow::since). A fresh follow of an edge is always told: what its
    /// [`Missed::events`] leave out comes in batches.
    pub missed: Option<Missed>,
    /// A shard has taken everything up to that mark.
    pub is_settled: bool,
    /// The sessions whose streams joined; one that is over is left out.
    pub watches: Vec<Watched>,
    /// Bytes that the names of all that is followed may count; `None`: there are no bounds.
    pub room: Option<usize>,
}

/// What a session watches whose stream has joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Which session.
    pub session: Box<str>,
    /// The resources that it watches.
    pub uris: Vec<Uri>,
    /// Its client has yet to say that it is ready, and must be sent nothing until then (2025-11-25, Lifecycle: Initialization).
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

impl FollowAnswer {
    /// Reads one answer.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the follow counts as failed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        Self::from_node(&parse(text)?.root)
    }

    pub(super) fn from_node(root: &Node<'_>) -> Result<Self, ProtocolError> {
        match text_in(root, "type")? {
            FOLLOWED => Followed::from_node(root).map(Self::Followed),
            FULL => Ok(Self::Full {
                seq: number_in(root, "seq")?,
                room: room_in(root)?,
            }),
            STALE => Ok(Self::Stale {
                seq: number_in(root, "seq")?,
            }),
            UNKNOWN => Ok(Self::Unknown),
            _ => Err(ProtocolError::UnknownType),
        }
    }

    /// The answer as text.
    pub fn to_json(&self) -> String {
        match self {
            Self::Followed(followed) => followed.to_json(),
            Self::Full { seq, room } => {
                let mut out = opened(FULL);
                push_number(&mut out, "seq", *seq);
                push_room(&mut out, *room);
                closed(out)
            }
            Self::Stale { seq } => {
                let mut out = opened(STALE);
                push_number(&mut out, "seq", *seq);
                closed(out)
            }
            Self::Unknown => closed(opened(UNKNOWN)),
        }
    }
}

impl Followed {
    fn from_node(root: &Node<'_>) -> Result<Self, ProtocolError> {
        let after = optional(root, "after")?.map(Position);
        let watches = items_in(root, "watches")?.iter().map(Watched::from_node);
        Ok(Self {
            seq: number_in(root, "seq")?,
            mark: Mark {
                epoch: text_in(root, "epoch")?.into(),
                position: position_in(root)?,
            },
            missed: match after {
                Some(after) => Some(Missed {
                    after,
                    events: events_in(root)?,
                }),
                None => None,
            },
            is_settled: is_set(root, "settled"),
            watches: watches.collect::<Result<_, _>>()?,
            room: room_in(root)?,
        })
    }

    fn to_json(&self) -> String {
        let mut out = opened(FOLLOWED);
        push_number(&mut out, "seq", self.seq);
        push_text(&mut out, "epoch", &self.mark.epoch);
        push_number(&mut out, "position", self.mark.position.0);
        if let Some(missed) = &self.missed {
            push_number(&mut out, "after", missed.after.0);
            let events = missed.events.iter();
            push_events(&mut out, events.map(|(at, event)| (*at, event.to_json())));
        }
        push_flag(&mut out, "settled", self.is_settled);
        push_room(&mut out, self.room);
        if !self.watches.is_empty() {
            push_name(&mut out, "watches");
            push_list(&mut out, self.watches.iter(), |out, watched| {
                out.push_str("{\"session\":");
                json::push_string(out, &watched.session);
                push_uris(out, &watched.uris);
                push_flag(out, "held", watched.is_held);
                out.push('}');
            });
        }
        closed(out)
    }
}

impl Watched {
    fn from_node(node: &Node<'_>) -> Result<Self, ProtocolError> {
        Ok(Self {
            session: text_in(node, "session")?.into(),
            uris: uris_in(node)?,
            is_held: is_set(node, "held"),
        })
    }
}

const FOLLOWED: &str = "followed";
const FULL: &str = "full";
const STALE: &str = "stale";
const UNKNOWN: &str = "unknown";
