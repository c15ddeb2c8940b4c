use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    json::Node,
    vocabulary::{
        event::ServerEvent,
        position::{Cursor, Position},
        uri::Uri,
    },
};

use super::{
    claim::Claim,
    codec::{PositionedEvent, entries, events_in, is_unbounded, is_unset, room},
    envelope::{bare, kind_of, members, message, parse},
    error::ProtocolError,
};

/// The reply to a [`Follow`](super::Follow).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FollowResponse {
    /// The follow is in effect.
    Followed(Followed),
    /// There is no room for the topics that it adds, so none was added. What an edge drops was
    /// dropped; everything else in a shard's follow was ignored.
    Full {
        /// See [`Followed::seq`].
        seq: u64,
        /// See [`Followed::room`].
        room: Option<usize>,
    },
    /// A later follow arrived before.
    Stale {
        /// The number of the later follow.
        seq: u64,
    },
    /// The bus has no such shard (any more).
    Unknown,
}

/// The state after a follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The number of the follow.
    pub seq: u64,
    /// The end of the log. Every later event of the followed topics will be sent. A receiver that
    /// waited for this reply ignores events at or before the cursor.
    pub cursor: Cursor,
    /// The events that [`Follow::since`](super::Follow::since) requests. Always present in the
    /// reply to a fresh follow of an edge; events that [`Backlog::events`] leaves out follow in
    /// batches.
    pub missed: Option<Backlog>,
    /// The shard has every event up to the cursor.
    pub is_settled: bool,
    /// The sessions whose streams joined; a session that has ended is left out.
    pub interests: Vec<SessionInterest>,
    /// Maximum bytes of the names of all followed topics; `None`: unlimited.
    pub room: Option<usize>,
}

/// The subscriptions of a session whose stream has joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInterest {
    /// The session and its stream.
    pub session: Claim,
    /// The resources that the session is subscribed to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uris: Vec<Uri>,
    /// The client has not sent `notifications/initialized` and must receive no notifications until
    /// then (2025-11-25, Lifecycle: Initialization).
    #[serde(rename = "paused", default, skip_serializing_if = "is_unset")]
    pub is_paused: bool,
}

/// The members of a reply that refuses a follow.
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

/// The serialized form of [`Followed`].
#[derive(Serialize, Deserialize)]
struct Members {
    seq: u64,
    epoch: Box<str>,
    position: Position,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<Position>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    events: Option<Vec<PositionedEvent<String>>>,
    #[serde(rename = "settled", default, skip_serializing_if = "is_unset")]
    is_settled: bool,
    #[serde(
        default,
        skip_serializing_if = "is_unbounded",
        deserialize_with = "room"
    )]
    room: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    interests: Vec<SessionInterest>,
}

/// The events after a position: the latest of each topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// The position after which no event is left out; later than requested if the log does not
    /// reach back that far.
    pub after: Position,
    /// The events in the order of their positions.
    pub events: Vec<(Position, ServerEvent)>,
}

impl FollowResponse {
    /// Reads a reply.
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

    /// Returns the reply as text.
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
            interests,
            ..
        } = members(root)?;
        let missed = after.map(|after| events_in(root).map(|events| Backlog { after, events }));
        Ok(Self {
            seq,
            cursor: Cursor { epoch, position },
            missed: missed.transpose()?,
            is_settled,
            interests,
            room,
        })
    }

    fn members(&self) -> Members {
        let events = |missed: &Backlog| {
            let events = missed.events.iter();
            entries(events.map(|(at, event)| (*at, event.to_json())))
        };
        Members {
            seq: self.seq,
            epoch: self.cursor.epoch.clone(),
            position: self.cursor.position,
            after: self.missed.as_ref().map(|missed| missed.after),
            events: self.missed.as_ref().map(events),
            is_settled: self.is_settled,
            room: self.room,
            interests: self.interests.clone(),
        }
    }
}

const FOLLOWED: &str = "followed";
const FULL: &str = "full";
const STALE: &str = "stale";
const UNKNOWN: &str = "unknown";
