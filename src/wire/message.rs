use alloc::{string::String, vec::Vec};

use crate::uri::Uri;

use super::{
    batch::{BATCH, Batch},
    error::ProtocolError,
    follow::{FOLLOW, Follow},
    followed::FollowAnswer,
    member::{closed, is_set, opened, parse, push_flag, push_uris, text_in, uris_in},
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

impl EdgeMessage {
    /// Reads one frame.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = parse(text)?;
        match text_in(&document.root, "type")? {
            FOLLOW => Follow::from_node(&document.root).map(Self::Follow),
            DETACH => Ok(Self::Detach),
            _ => Err(ProtocolError::UnknownType),
        }
    }

    /// The message as one frame.
    pub fn to_json(&self) -> String {
        match self {
            Self::Follow(follow) => follow.to_json(),
            Self::Detach => closed(opened(DETACH)),
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
        match text_in(root, "type")? {
            BATCH => Batch::from_node(root).map(Self::Batch),
            WATCHED => Ok(Self::Watched {
                uris: uris_in(root)?,
                is_held: is_set(root, "held"),
            }),
            _ => FollowAnswer::from_node(root).map(Self::Answer),
        }
    }

    /// The frame that tells the edge of a session what that watches.
    pub fn watched(uris: &[Uri], is_held: bool) -> String {
        let mut out = opened(WATCHED);
        push_uris(&mut out, uris);
        push_flag(&mut out, "held", is_held);
        closed(out)
    }
}

const DETACH: &str = "detach";
const WATCHED: &str = "watched";
