use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::vocabulary::uri::Uri;

use super::{
    batch::{BATCH, Batch},
    envelope::{bare, kind_of, members, message, parse},
    error::ProtocolError,
    follow::{FOLLOW, Follow},
    followed::FollowAnswer,
    member::is_unset,
};

/// What an edge tells its bus over its WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EdgeMessage {
    /// Send me these events from now on.
    Follow(Follow),
    /// Send me nothing more.
    Detach,
}

/// What a bus, or its shard, tells an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BusMessage {
    /// The answer to a follow.
    Answer(FollowAnswer),
    /// What was published.
    Batch(Batch),
    /// The session whose stream the edge holds watches something else from now on, or its client is ready.
    Watched {
        /// The resources.
        uris: Vec<Uri>,
        /// As [`Watched::is_held`](super::Watched::is_held).
        is_held: bool,
    },
}

#[derive(Serialize, Deserialize)]
struct Watched {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    uris: Vec<Uri>,
    #[serde(rename = "held", default, skip_serializing_if = "is_unset")]
    is_held: bool,
}

impl EdgeMessage {
    /// Reads one frame.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = parse(text)?;
        match kind_of(&document.root)? {
            FOLLOW => members(&document.root).map(Self::Follow),
            DETACH => Ok(Self::Detach),
            _ => Err(ProtocolError::UnknownType),
        }
    }

    /// The message as one frame.
    pub fn to_json(&self) -> String {
        match self {
            Self::Follow(follow) => follow.to_json(),
            Self::Detach => bare(DETACH),
        }
    }
}

impl BusMessage {
    /// Reads one frame.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = parse(text)?;
        let root = &document.root;
        match kind_of(root)? {
            BATCH => Batch::from_node(root).map(Self::Batch),
            WATCHED => {
                let Watched { uris, is_held } = members(root)?;
                Ok(Self::Watched { uris, is_held })
            }
            _ => FollowAnswer::from_node(root).map(Self::Answer),
        }
    }

    /// The frame that tells the edge of a session what that watches.
    pub fn watched(uris: &[Uri], is_held: bool) -> String {
        let uris = uris.to_vec();
        message(WATCHED, &Watched { uris, is_held })
    }
}

const DETACH: &str = "detach";
const WATCHED: &str = "watched";
