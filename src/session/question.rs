use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{json, vocabulary::uri::Uri};

use super::Limits;

/// What a request that names a session asks of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The `Mcp-Session-Id`.
    pub session: Box<str>,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Box<str>>,
    /// What it asks.
    pub ask: Ask,
}

/// Each of them uses the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Ask {
    /// Whether it is there.
    Use,
    /// By which id the server behind knows it.
    Behind,
    /// Its client is ready.
    Initialized {
        /// The server behind has been told.
        is_told: bool,
    },
    /// Whether it may watch resources at all.
    MayWatch,
    /// It watches a resource.
    Watch {
        /// Which.
        uri: Uri,
        /// What it may take.
        limits: Limits,
    },
    /// It watches a resource no longer.
    Unwatch(Uri),
    /// Its client opens its stream.
    Open {
        /// It says which event it has seen last.
        resumes: bool,
    },
    /// It is over.
    End {
        /// The server behind has been told.
        is_told: bool,
    },
}

/// The reply to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// There is no such session, it is over, or it is another principal's.
    Unknown,
    /// What was asked is so, or is done.
    Done,
    /// By which id the server behind knows it; `None`: by none.
    Behind(Option<Box<str>>),
    /// Tell the server behind first, which knows it by this id, then ask again.
    Tell(Box<str>),
    /// Its client was never told that it could watch resources.
    NotOffered,
    /// It watches as much as it may.
    Full(Excess),
    /// Its stream is open already.
    Taken,
    /// Its stream may open.
    Open {
        /// What its client was told that it is notified about: the JSON text of server capabilities.
        capabilities: Box<str>,
        /// The number of the stream, see [`Claim::stream`](super::Claim::stream).
        stream: u64,
        /// Where its first stream goes on.
        since: Box<str>,
        /// The resources that it watches.
        watched: Vec<Uri>,
    },
}

/// The limit that one more resource would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Excess {
    /// Of how many there are, with the limit.
    Uris(usize),
    /// Of their bytes, with the limit.
    Bytes(usize),
}

impl Ask {
    /// Whether the server behind may have to be told first.
    pub(crate) fn is_untold(&self) -> bool {
        matches!(
            self,
            Self::Initialized { is_told: false } | Self::End { is_told: false }
        )
    }
}

impl Question {
    /// Reads one; `None`: it is none.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    /// The question as text.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }
}

impl Reply {
    /// Reads one; `None`: it is none.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    /// The reply as text.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }
}
