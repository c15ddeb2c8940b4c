//! What the bus carries: typed change events, never JSON-RPC.

use alloc::{boxed::Box, string::String};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{
    json::{self, Node, Text},
    vocabulary::{
        limits::Limits,
        scope::Label,
        task::{Task, TaskError},
        uri::{Uri, UriError},
    },
};

/// A change that a server publishes, shaped as in the official TypeScript SDK:
/// `{"kind":"tools_list_changed"}`, `{"kind":"resource_updated","uri":"note://todo"}`; and, which the
/// SDK does not have, `{"kind":"task_status","task":{"taskId":"t","status":"working"}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// The list of tools changed.
    ToolsListChanged,
    /// The list of prompts changed.
    PromptsListChanged,
    /// The list of resources changed.
    ResourcesListChanged,
    /// The content of one resource changed.
    ResourceUpdated {
        /// Which resource.
        uri: Uri,
    },
    /// The state of one task changed (Tasks extension, SEP-2663).
    TaskStatus {
        /// The whole state as it is now.
        task: Task,
    },
    /// One of the changes above, for streams of one audience alone. To a receiver that does not know audiences it is of a kind that it
    /// does not know, and drops: never a change for everybody.
    ForAudience {
        /// Whose callers hear it.
        audience: Label,
        /// What changed.
        event: Box<ServerEvent>,
    },
    /// A caller may hear nothing any more: its streams end.
    Revoked {
        /// Its name.
        principal: Label,
    },
}

/// Why a text is no [`ServerEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventError {
    /// Not a JSON object, or one that names a key twice.
    Malformed,
    /// `kind` is missing or not one of those that are known.
    UnknownKind,
    /// `uri` is missing or not a string.
    MissingUri,
    /// `uri` is not one that can be listened to.
    Uri(UriError),
    /// `task` is no state of a task.
    Task(TaskError),
    /// `audience` is missing or no name.
    Audience,
    /// `principal` is missing or no name.
    Principal,
    /// A revocation, where only changes are taken.
    Revocation,
}

impl ServerEvent {
    /// Reads `{"kind":...}`; members beside `kind`, `uri` and `task` are ignored.
    ///
    /// # Errors
    /// An [`EventError`] that says what is wrong.
    pub fn from_json(text: &str) -> Result<Self, EventError> {
        let limits = Limits::default();
        let document =
            json::read(text.as_bytes(), limits.depth).map_err(|_| EventError::Malformed)?;
        if document.has_duplicate_key {
            return Err(EventError::Malformed);
        }
        Self::from_node(&document.root)
    }

    /// Reads an event that stands inside a larger text.
    ///
    /// # Errors
    /// An [`EventError`] that says what is wrong.
    pub fn from_node(node: &Node<'_>) -> Result<Self, EventError> {
        let label = |name| node.get(name).and_then(Label::from_node);
        match node.get("kind").and_then(Node::as_str) {
            Some(FOR_AUDIENCE) => Ok(Self::ForAudience {
                audience: label("audience").ok_or(EventError::Audience)?,
                event: Box::new(Self::change_in(
                    node.get("event").ok_or(EventError::Malformed)?,
                )?),
            }),
            Some(REVOKED) => label("principal")
                .map(|principal| Self::Revoked { principal })
                .ok_or(EventError::Principal),
            _ => Self::change_in(node),
        }
    }

    /// A change that is for everybody.
    fn change_in(node: &Node<'_>) -> Result<Self, EventError> {
        let object = node.as_object().ok_or(EventError::Malformed)?;
        let kind = object.get("kind").and_then(Node::as_str);
        match kind.ok_or(EventError::UnknownKind)? {
            TOOLS => Ok(Self::ToolsListChanged),
            PROMPTS => Ok(Self::PromptsListChanged),
            RESOURCES => Ok(Self::ResourcesListChanged),
            UPDATED => Self::updated(object.get("uri")),
            TASK => Task::from_node(object.get("task"))
                .map(|task| Self::TaskStatus { task })
                .map_err(EventError::Task),
            _ => Err(EventError::UnknownKind),
        }
    }

    pub(crate) fn updated(uri: Option<&Node<'_>>) -> Result<Self, EventError> {
        let uri = uri.and_then(Node::as_str).ok_or(EventError::MissingUri)?;
        Uri::new(uri, Limits::default().uri_bytes)
            .map(|uri| Self::ResourceUpdated { uri })
            .map_err(EventError::Uri)
    }

    /// The event as compact JSON.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{\"kind\":\"");
        out.push_str(self.kind());
        out.push('"');
        match self {
            Self::ResourceUpdated { uri } => {
                out.push_str(",\"uri\":");
                json::push_string(&mut out, uri);
            }
            Self::TaskStatus { task } => {
                out.push_str(",\"task\":{");
                out.push_str(task.members());
                out.push('}');
            }
            Self::ForAudience { audience, event } => {
                out.push_str(",\"audience\":");
                json::push_string(&mut out, audience);
                out.push_str(",\"event\":");
                out.push_str(&event.to_json());
            }
            Self::Revoked { principal } => {
                out.push_str(",\"principal\":");
                json::push_string(&mut out, principal);
            }
            _ => {}
        }
        out.push('}');
        out
    }

    /// What changed, whomever it is for.
    pub fn change(&self) -> &Self {
        match self {
            Self::ForAudience { event, .. } => event,
            change => change,
        }
    }

    /// Whom it is for; `None`: for everybody.
    pub fn audience(&self) -> Option<&Label> {
        match self {
            Self::ForAudience { audience, .. } => Some(audience),
            _ => None,
        }
    }

    /// Whether it may be published again where it is not known whether it was. A change that arrives twice is a cue to read
    /// twice, and harmless; the second copy of a task's state could arrive after the next state.
    pub fn is_repeatable(&self) -> bool {
        !matches!(self.change(), Self::TaskStatus { .. })
    }

    /// The value of `kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ToolsListChanged => TOOLS,
            Self::PromptsListChanged => PROMPTS,
            Self::ResourcesListChanged => RESOURCES,
            Self::ResourceUpdated { .. } => UPDATED,
            Self::TaskStatus { .. } => TASK,
            Self::ForAudience { .. } => FOR_AUDIENCE,
            Self::Revoked { .. } => REVOKED,
        }
    }
}

impl Serialize for ServerEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Text::serialize(&self.to_json(), serializer)
    }
}

/// As [`ServerEvent::from_json`] reads it.
impl<'de> Deserialize<'de> for ServerEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Text(text) = Text::deserialize(deserializer)?;
        Self::from_json(&text).map_err(D::Error::custom)
    }
}

impl EventError {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed-event",
            Self::UnknownKind => "unknown-event-kind",
            Self::MissingUri | Self::Uri(_) => "invalid-uri",
            Self::Task(_) => "invalid-task",
            Self::Audience => "invalid-audience",
            Self::Principal => "invalid-principal",
            Self::Revocation => "revocation-not-allowed",
        }
    }
}

impl fmt::Display for EventError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => formatter.write_str("the event is not a JSON object"),
            Self::UnknownKind => formatter.write_str("the event's kind is not known"),
            Self::MissingUri => formatter.write_str("the event has no uri"),
            Self::Uri(error) => write!(formatter, "the uri {error}"),
            Self::Task(error) => error.fmt(formatter),
            Self::Audience => formatter.write_str("the audience is no name"),
            Self::Principal => formatter.write_str("the principal is no name"),
            Self::Revocation => formatter.write_str("callers are not revoked by what is posted"),
        }
    }
}

impl core::error::Error for EventError {}

const TOOLS: &str = "tools_list_changed";
const PROMPTS: &str = "prompts_list_changed";
const RESOURCES: &str = "resources_list_changed";
const UPDATED: &str = "resource_updated";
const TASK: &str = "task_status";
const FOR_AUDIENCE: &str = "for_audience";
const REVOKED: &str = "revoked";
