use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{json, vocabulary::uri::Uri};

use super::limits::{Excess, SessionLimits};

/// A question of a request to its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The `Mcp-Session-Id`.
    pub session: Box<str>,
    /// The principal of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Box<str>>,
    /// The kind of question.
    pub ask: Ask,
}

/// The kinds of questions. Each counts as a use of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Ask {
    /// Asks whether the session exists.
    Use,
    /// Asks for the session's id at the upstream server.
    UpstreamId,
    /// Reports that the client is ready.
    Initialized {
        /// Whether the upstream server has received this.
        is_forwarded: bool,
    },
    /// Asks whether the session may subscribe to resources at all.
    MaySubscribe,
    /// Subscribes to a resource.
    Subscribe {
        /// The resource.
        uri: Uri,
        /// The limits that apply.
        limits: SessionLimits,
    },
    /// Unsubscribes from a resource.
    Unsubscribe(Uri),
    /// Opens the stream of the session.
    Open {
        /// Whether the client sent the id of its last event.
        resumes: bool,
    },
    /// Ends the session.
    End {
        /// Whether the upstream server has received this.
        is_forwarded: bool,
    },
}

/// The reply to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Reply {
    /// The session does not exist, has ended, or belongs to another principal.
    Unknown,
    /// Yes; or the action is done.
    Done,
    /// The session's id at the upstream server; `None` if it has none.
    UpstreamId(Option<Box<str>>),
    /// Forward this to the upstream server first, in the session with this id there, then ask
    /// again.
    ForwardFirst(Box<str>),
    /// The client was not offered subscriptions to resources.
    NotOffered,
    /// The session is at a limit.
    Full(Excess),
    /// The stream is already open.
    Taken,
    /// The stream may open.
    Open {
        /// The notifications that the client was offered: the JSON text of server capabilities.
        capabilities: Box<str>,
        /// The number of the stream, see [`Claim::stream`](super::Claim::stream).
        stream: u64,
        /// The event id from which a stream continues whose client names none.
        since: Box<str>,
        /// The resources that the session is subscribed to.
        subscriptions: Vec<Uri>,
    },
}

impl Ask {
    /// Whether the upstream server may have to receive this first.
    pub(crate) fn needs_forward(&self) -> bool {
        matches!(
            self,
            Self::Initialized {
                is_forwarded: false
            } | Self::End {
                is_forwarded: false
            }
        )
    }
}

impl Question {
    /// Reads the text form; `None` if it is invalid.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    /// Returns the question as text.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }
}

impl Reply {
    /// Reads the text form; `None` if it is invalid.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    /// Returns the reply as text.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }
}
