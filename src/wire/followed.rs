use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    json::Node,
    vocabulary::{
        event::ServerEvent,
        position::{Mark, Position},
        uri::Uri,
    },
};

use super::{
    claim::Claim,
    envelope::{bare, kind_of, members, message, parse},
    error::ProtocolError,
    member::{Entry, entries, events_in, is_unbounded, is_unset, room},
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// Which session.
    pub session: Claim,
    /// The resources that it watches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uris: Vec<Uri>,
    /// Its client has yet to say that it is ready, and must be sent nothing until then (2025-11-25, Lifecycle: Initialization).
    #[serde(rename = "held", default, skip_serializing_if = "is_unset")]
    pub is_held: bool,
}

/// A follow was answered with no more than this.
#[derive(Serialize, Deserialize)]
struct Refused {
    seq: u64,
    #[serde(
        default,
        skip_serializing_if = "is_unbounded",
        deserialize_with = "room"
    )]
    room: Option<usize>,
}

/// As [`Followed`] is written.
#[derive(Serialize, Deserialize)]
struct Members {
    seq: u64,
    epoch: Box<str>,
    position: Position,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<Position>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    events: Option<Vec<Entry<String>>>,
    #[serde(rename = "settled", default, skip_serializing_if = "is_unset")]
    is_settled: bool,
    #[serde(
        default,
        skip_serializing_if = "is_unbounded",
        deserialize_with = "room"
    )]
    room: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    watches: Vec<Watched>,
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
        match kind_of(root)? {
            FOLLOWED => Followed::from_node(root).map(Self::Followed),
            FULL => {
                let Refused { seq, room } = members(root)?;
                Ok(Self::Full { seq, room })
            }
            STALE => {
                let Refused { seq, .. } = members(root)?;
                Ok(Self::Stale { seq })
            }
            UNKNOWN => Ok(Self::Unknown),
            _ => Err(ProtocolError::UnknownType),
        }
    }

    /// The answer as text.
    pub fn to_json(&self) -> String {
        match *self {
            Self::Followed(ref followed) => message(FOLLOWED, &followed.members()),
            Self::Full { seq, room } => message(FULL, &Refused { seq, room }),
            Self::Stale { seq } => message(STALE, &Refused { seq, room: None }),
            Self::Unknown => bare(UNKNOWN),
        }
    }
}

impl Followed {
    fn from_node(root: &Node<'_>) -> Result<Self, ProtocolError> {
        let Members {
            seq,
            epoch,
            position,
            after,
            is_settled,
            room,
            watches,
            ..
        } = members(root)?;
        let missed = after.map(|after| events_in(root).map(|events| Missed { after, events }));
        Ok(Self {
            seq,
            mark: Mark { epoch, position },
            missed: missed.transpose()?,
            is_settled,
            watches,
            room,
        })
    }

    fn members(&self) -> Members {
        let events = |missed: &Missed| {
            let events = missed.events.iter();
            entries(events.map(|(at, event)| (*at, event.to_json())))
        };
        Members {
            seq: self.seq,
            epoch: self.mark.epoch.clone(),
            position: self.mark.position,
            after: self.missed.as_ref().map(|missed| missed.after),
            events: self.missed.as_ref().map(events),
            is_settled: self.is_settled,
            room: self.room,
            watches: self.watches.clone(),
        }
    }
}

const FOLLOWED: &str = "followed";
const FULL: &str = "full";
const STALE: &str = "stale";
const UNKNOWN: &str = "unknown";
