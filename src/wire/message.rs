use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::vocabulary::uri::Uri;

use super::{
    batch::{BATCH, Batch},
    codec::is_unset,
    envelope::{bare, kind_of, members, message, parse},
    error::ProtocolError,
    follow::{FOLLOW, Follow},
    followed::FollowResponse,
};

/// A message of an edge to its bus over its WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EdgeMessage {
    /// Requests the events of topics.
    Follow(Follow),
    /// Ends the connection.
    Detach,
}

/// A message of a bus or shard to an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BusMessage {
    /// The response to a follow.
    Response(FollowResponse),
    /// Published events.
    Batch(Batch),
    /// The subscriptions of the session whose stream the edge holds have changed, or its client is
    /// ready.
    SessionInterest {
        /// The resources that the session is subscribed to.
        uris: Vec<Uri>,
        /// See [`SessionInterest::is_paused`](super::SessionInterest::is_paused).
        is_paused: bool,
    },
}

/// The serialized form of [`BusMessage::SessionInterest`].
#[derive(Serialize, Deserialize)]
struct InterestMembers {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    uris: Vec<Uri>,
    #[serde(rename = "paused", default, skip_serializing_if = "is_unset")]
    is_paused: bool,
}

impl EdgeMessage {
    /// Reads a frame.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame has to be dropped.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = parse(text)?;
        match kind_of(&document.root)? {
            FOLLOW => members(&document.root).map(Self::Follow),
            DETACH => Ok(Self::Detach),
            _ => Err(ProtocolError::UnknownType),
        }
    }

    /// Returns the message as one frame.
    pub fn to_json(&self) -> String {
        match self {
            Self::Follow(follow) => follow.to_json(),
            Self::Detach => bare(DETACH),
        }
    }
}

impl BusMessage {
    /// Reads a frame.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame has to be dropped.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = parse(text)?;
        let root = &document.root;
        match kind_of(root)? {
            BATCH => Batch::from_node(root).map(Self::Batch),
            INTEREST => {
                let InterestMembers { uris, is_paused } = members(root)?;
                Ok(Self::SessionInterest { uris, is_paused })
            }
            _ => FollowResponse::from_node(root).map(Self::Response),
        }
    }

    /// Returns the frame with the subscriptions of a session.
    pub fn session_interest(uris: &[Uri], is_paused: bool) -> String {
        let uris = uris.to_vec();
        message(INTEREST, &InterestMembers { uris, is_paused })
    }
}

const DETACH: &str = "detach";
const INTEREST: &str = "interest";
