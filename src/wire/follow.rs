use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::vocabulary::{
    position::{Mark, Position},
    topic::{Delta, Topic},
};

use super::{
    claim::Claim,
    envelope::{members, message, read},
    error::ProtocolError,
    member::{is_none, is_unset},
};

/// What is to be sent from now on. Answered with a [`FollowAnswer`](super::FollowAnswer).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follow {
    /// Counts what is said on one connection, or by one shard: what comes after something later changes nothing.
    pub seq: u64,
    /// Nothing that was said before holds.
    #[serde(rename = "fresh", default, skip_serializing_if = "is_unset")]
    pub is_fresh: bool,
    /// Send me the events of these topics too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<Topic>,
    /// Send me those of these no more; what is in both is added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<Topic>,
    /// Tell me what I follow and was published after this position, collapsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Position>,
    /// Of which log that is a position; `None`: of the one that there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Box<str>>,
    /// The streams of these sessions are here: tell me what they watch. An edge names one at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<Claim>,
    /// The streams of these sessions were here and are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Claim>,
    /// How many edges a shard holds.
    #[serde(default, skip_serializing_if = "is_none")]
    pub edges: u32,
    /// Those are few, and have been for a while.
    #[serde(rename = "low", default, skip_serializing_if = "is_unset")]
    pub is_low: bool,
}

impl Follow {
    /// All that an edge wants, which has nothing heard before.
    pub fn fresh(seq: u64, add: Vec<Topic>) -> Self {
        Self {
            seq,
            is_fresh: true,
            add,
            ..Self::default()
        }
    }

    /// The same, after everything up to a place in a log was heard.
    #[must_use]
    pub fn since(mut self, mark: &Mark) -> Self {
        self.since = Some(mark.position);
        self.epoch = Some(mark.epoch.clone());
        self
    }

    /// Up to where an edge has heard everything. A position of no log is one that no log reaches.
    pub fn heard(&self) -> Option<Mark> {
        self.since.map(|position| Mark {
            epoch: self.epoch.clone().unwrap_or_default(),
            position,
        })
    }

    /// Reads one message.
    ///
    /// # Errors
    /// A [`ProtocolError`]; nothing has changed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        members(&read(text, FOLLOW)?.root)
    }

    /// The message as text.
    pub fn to_json(&self) -> String {
        message(FOLLOW, self)
    }

    /// What it changes.
    pub fn delta(&self) -> Delta {
        Delta {
            add: self.add.clone(),
            drop: self.drop.clone(),
        }
    }
}

pub(super) const FOLLOW: &str = "follow";
