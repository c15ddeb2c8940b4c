use alloc::{boxed::Box, string::String, vec::Vec};

use crate::{
    json::Node,
    position::{Mark, Position},
    topic::{Delta, Topic},
};

use super::{
    error::ProtocolError,
    member::{
        closed, count_in, delta_in, is_set, number_in, opened, optional, push_delta, push_flag,
        push_number, push_position, push_text, push_texts, read, text_in, texts_in,
    },
};

/// What is to be sent from now on. Answered with a [`FollowAnswer`](super::FollowAnswer).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Follow {
    /// Counts what is said on one connection, or by one shard: what comes after something later changes nothing.
    pub seq: u64,
    /// Nothing that was said before holds.
    pub is_fresh: bool,
    /// Send me the events of these topics too, and of those no more; what is in both is added.
    pub topics: Delta,
    /// Tell me what I follow and was published after this position, collapsed.
    pub since: Option<Position>,
    /// Of which log that is a position; `None`: of the one that there is.
    pub epoch: Option<Box<str>>,
    /// The streams of these sessions are here: tell me what they watch. An edge names one at most.
    pub joined: Vec<Box<str>>,
    /// The streams of these sessions were here and are gone.
    pub left: Vec<Box<str>>,
    /// How many edges a shard holds.
    pub edges: u32,
    /// Those are few, and have been for a while.
    pub is_low: bool,
}

impl Follow {
    /// All that an edge wants, which has nothing heard before.
    pub fn fresh(seq: u64, add: Vec<Topic>) -> Self {
        Self {
            seq,
            is_fresh: true,
            topics: Delta {
                add,
                drop: Vec::new(),
            },
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
        Self::from_node(&read(text, FOLLOW)?.root)
    }

    pub(super) fn from_node(root: &Node<'_>) -> Result<Self, ProtocolError> {
        Ok(Self {
            seq: number_in(root, "seq")?,
            is_fresh: is_set(root, "fresh"),
            topics: delta_in(root)?,
            since: optional(root, "since")?.map(Position),
            epoch: match root.get("epoch") {
                Some(_) => Some(text_in(root, "epoch")?.into()),
                None => None,
            },
            joined: texts_in(root, "joined")?,
            left: texts_in(root, "left")?,
            edges: count_in(root, "edges")?,
            is_low: is_set(root, "low"),
        })
    }

    /// The message as text.
    pub fn to_json(&self) -> String {
        let mut out = opened(FOLLOW);
        push_number(&mut out, "seq", self.seq);
        push_flag(&mut out, "fresh", self.is_fresh);
        push_delta(&mut out, &self.topics);
        push_position(&mut out, "since", self.since);
        if let Some(epoch) = &self.epoch {
            push_text(&mut out, "epoch", epoch);
        }
        push_texts(&mut out, "joined", self.joined.iter().map(|id| &**id));
        push_texts(&mut out, "left", self.left.iter().map(|id| &**id));
        if self.edges > 0 {
            push_number(&mut out, "edges", self.edges.into());
        }
        push_flag(&mut out, "low", self.is_low);
        closed(out)
    }
}

pub(super) const FOLLOW: &str = "follow";
