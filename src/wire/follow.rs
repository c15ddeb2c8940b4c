use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::vocabulary::{
    position::{Cursor, Position},
    topic::{Delta, Topic},
};

use super::{
    claim::Claim,
    codec::{is_none, is_unset},
    envelope::{members, message, read},
    error::ProtocolError,
};

/// A request for the events of topics. The reply is a [`FollowResponse`](super::FollowResponse).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follow {
    /// The number of the follow on one connection, or of one shard. A follow that arrives after a
    /// later one changes nothing.
    pub seq: u64,
    /// Replaces all earlier follows.
    #[serde(rename = "fresh", default, skip_serializing_if = "is_unset")]
    pub is_fresh: bool,
    /// Topics to follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<Topic>,
    /// Topics to stop following. A topic in both lists is added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<Topic>,
    /// Requests the events after this position, the latest of each topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Position>,
    /// The epoch of `since`; `None` for the current log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Box<str>>,
    /// Sessions whose streams the sender holds: requests the resources that they are subscribed to.
    /// An edge names at most one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<Claim>,
    /// Sessions whose streams the sender held and no longer holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Claim>,
    /// The number of edges that a shard holds.
    #[serde(default, skip_serializing_if = "is_none")]
    pub edges: u32,
    /// The shard has held few edges for a while.
    #[serde(rename = "low", default, skip_serializing_if = "is_unset")]
    pub is_low: bool,
}

impl Follow {
    /// Creates a fresh follow of all topics of an edge that has received no events before.
    pub fn fresh(seq: u64, add: Vec<Topic>) -> Self {
        Self {
            seq,
            is_fresh: true,
            add,
            ..Self::default()
        }
    }

    /// Requests the events after a cursor, up to which the sender has received every event.
    #[must_use]
    pub fn since(mut self, cursor: &Cursor) -> Self {
        self.since = Some(cursor.position);
        self.epoch = Some(cursor.epoch.clone());
        self
    }

    /// Returns the cursor up to which the sender has received every event. A position without an
    /// epoch gets an empty epoch, which no log has.
    pub fn received(&self) -> Option<Cursor> {
        self.since.map(|position| Cursor {
            epoch: self.epoch.clone().unwrap_or_default(),
            position,
        })
    }

    /// Reads a message.
    ///
    /// # Errors
    /// A [`ProtocolError`]; nothing has changed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        members(&read(text, FOLLOW)?.root)
    }

    /// Returns the message as text.
    pub fn to_json(&self) -> String {
        message(FOLLOW, self)
    }

    /// Returns the change of topics.
    pub fn delta(&self) -> Delta {
        Delta {
            add: self.add.clone(),
            drop: self.drop.clone(),
        }
    }
}

pub(super) const FOLLOW: &str = "follow";
