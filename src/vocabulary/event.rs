//! The events of the bus: typed changes, never JSON-RPC.

use alloc::{boxed::Box, string::String};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{
    json::{self, Node, Text},
    vocabulary::{
        limits::Limits,
        scope::Name,
        task::{Task, TaskError},
        uri::{Uri, UriError},
    },
};

/// A change that a server publishes. Its JSON is that of the official TypeScript SDK:
/// `{"kind":"tools_list_changed"}`, `{"kind":"resource_updated","uri":"note://todo"}`. The SDK does
/// not have `{"kind":"events_list_changed"}`, nor
/// `{"kind":"task_status","task":{"taskId":"t","status":"working"}}`, nor the last two kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// The list of tools changed.
    ToolsListChanged,
    /// The list of prompts changed.
    PromptsListChanged,
    /// The list of resources changed.
    ResourcesListChanged,
    /// The list of event types changed (Events extension, SEP-3415).
    EventsListChanged,
    /// The content of one resource changed.
    ResourceUpdated {
        /// The resource.
        uri: Uri,
    },
    /// The state of one task changed (Tasks extension, SEP-2663).
    TaskStatus {
        /// The whole new state.
        task: Task,
    },
    /// One of the changes above, for the streams of one group only. A receiver that does not
    /// know groups sees an unknown kind and drops it, rather than delivering it to every stream.
    ForGroup {
        /// The group.
        group: Name,
        /// What changed.
        event: Box<ServerEvent>,
    },
    /// A caller has lost its access: its streams end.
    Disconnect {
        /// The caller's name.
        principal: Name,
    },
}

/// Why a text is not a [`ServerEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEventError {
    /// Not a JSON object, or one with a duplicate key.
    Malformed,
    /// `kind` is missing or unknown.
    UnknownKind,
    /// `uri` is missing or not a string.
    MissingUri,
    /// `uri` is not valid.
    Uri(UriError),
    /// `task` is not the state of a task.
    Task(TaskError),
    /// `group` is missing or not a valid name.
    Group,
    /// `principal` is missing or not a valid name.
    Principal,
    /// A disconnect, where only changes are accepted.
    Disconnect,
}

impl ServerEvent {
    /// Reads `{"kind":...}`; ignores members that the kind does not have.
    ///
    /// # Errors
    /// An [`ServerEventError`] that says what is wrong.
    pub fn from_json(text: &str) -> Result<Self, ServerEventError> {
        let limits = Limits::default();
        let document =
            json::read(text.as_bytes(), limits.depth).map_err(|_| ServerEventError::Malformed)?;
        if document.has_duplicate_key {
            return Err(ServerEventError::Malformed);
        }
        Self::from_node(&document.root)
    }

    /// As [`ServerEvent::from_json`], for a part of a larger document.
    pub(crate) fn from_node(node: &Node<'_>) -> Result<Self, ServerEventError> {
        let name = |name| node.get(name).and_then(Name::from_node);
        match node.get("kind").and_then(Node::as_str) {
            Some(FOR_GROUP) => Ok(Self::ForGroup {
                group: name("group").ok_or(ServerEventError::Group)?,
                event: Box::new(Self::change_in(
                    node.get("event").ok_or(ServerEventError::Malformed)?,
                )?),
            }),
            Some(DISCONNECT) => name("principal")
                .map(|principal| Self::Disconnect { principal })
                .ok_or(ServerEventError::Principal),
            _ => Self::change_in(node),
        }
    }

    /// Reads a change without a group.
    fn change_in(node: &Node<'_>) -> Result<Self, ServerEventError> {
        let object = node.as_object().ok_or(ServerEventError::Malformed)?;
        let kind = object.get("kind").and_then(Node::as_str);
        match kind.ok_or(ServerEventError::UnknownKind)? {
            TOOLS => Ok(Self::ToolsListChanged),
            PROMPTS => Ok(Self::PromptsListChanged),
            RESOURCES => Ok(Self::ResourcesListChanged),
            EVENTS => Ok(Self::EventsListChanged),
            UPDATED => Self::updated(object.get("uri")),
            TASK => Task::from_node(object.get("task"))
                .map(|task| Self::TaskStatus { task })
                .map_err(ServerEventError::Task),
            _ => Err(ServerEventError::UnknownKind),
        }
    }

    pub(crate) fn updated(uri: Option<&Node<'_>>) -> Result<Self, ServerEventError> {
        let uri = uri
            .and_then(Node::as_str)
            .ok_or(ServerEventError::MissingUri)?;
        Uri::new(uri, Limits::default().uri_bytes)
            .map(Self::of_resource)
            .map_err(ServerEventError::Uri)
    }

    /// Returns the event that reports a change of what has this URI.
    pub(crate) fn of_resource(uri: Uri) -> Self {
        if uri.is_of_event_types() {
            Self::EventsListChanged
        } else {
            Self::ResourceUpdated { uri }
        }
    }

    /// Returns the event as compact JSON, as buses carry it: [`ServerEvent::EventsListChanged`] is
    /// an update of a reserved URI, which every version forwards.
    pub fn to_json(&self) -> String {
        match self {
            Self::EventsListChanged => {
                let uri = Uri::of_event_types();
                Self::ResourceUpdated { uri }.text(Self::to_json)
            }
            event => event.text(Self::to_json),
        }
    }

    /// Returns the event as compact JSON for those who receive it, with the kind that it has.
    pub fn to_public_json(&self) -> String {
        self.text(Self::to_public_json)
    }

    /// Returns the event as compact JSON; `inner` writes the change of a group.
    fn text(&self, inner: fn(&Self) -> String) -> String {
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
            Self::ForGroup { group, event } => {
                out.push_str(",\"group\":");
                json::push_string(&mut out, group);
                out.push_str(",\"event\":");
                out.push_str(&inner(event));
            }
            Self::Disconnect { principal } => {
                out.push_str(",\"principal\":");
                json::push_string(&mut out, principal);
            }
            _ => {}
        }
        out.push('}');
        out
    }

    /// Returns the change without its group.
    pub fn change(&self) -> &Self {
        match self {
            Self::ForGroup { event, .. } => event,
            change => change,
        }
    }

    /// Returns the group; `None` if the event is for every stream.
    pub fn group(&self) -> Option<&Name> {
        match self {
            Self::ForGroup { group, .. } => Some(group),
            _ => None,
        }
    }

    /// Whether the event may be published again if it is unknown whether it was published. A change
    /// that arrives twice only causes a second read; a second copy of a task's state could arrive
    /// after its next state.
    pub fn is_repeatable(&self) -> bool {
        !matches!(self.change(), Self::TaskStatus { .. })
    }

    /// Returns the value of `kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ToolsListChanged => TOOLS,
            Self::PromptsListChanged => PROMPTS,
            Self::ResourcesListChanged => RESOURCES,
            Self::EventsListChanged => EVENTS,
            Self::ResourceUpdated { .. } => UPDATED,
            Self::TaskStatus { .. } => TASK,
            Self::ForGroup { .. } => FOR_GROUP,
            Self::Disconnect { .. } => DISCONNECT,
        }
    }
}

impl Serialize for ServerEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Text::serialize(&self.to_json(), serializer)
    }
}

/// As [`ServerEvent::from_json`].
impl<'de> Deserialize<'de> for ServerEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Text(text) = Text::deserialize(deserializer)?;
        Self::from_json(&text).map_err(D::Error::custom)
    }
}

impl ServerEventError {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed-event",
            Self::UnknownKind => "unknown-event-kind",
            Self::MissingUri | Self::Uri(_) => "invalid-uri",
            Self::Task(_) => "invalid-task",
            Self::Group => "invalid-group",
            Self::Principal => "invalid-principal",
            Self::Disconnect => "disconnect-not-allowed",
        }
    }
}

impl fmt::Display for ServerEventError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => formatter.write_str("the event is not a JSON object"),
            Self::UnknownKind => formatter.write_str("the event's kind is unknown"),
            Self::MissingUri => formatter.write_str("the event has no uri"),
            Self::Uri(error) => write!(formatter, "the uri {error}"),
            Self::Task(error) => error.fmt(formatter),
            Self::Group => formatter.write_str("the group is not a valid name"),
            Self::Principal => formatter.write_str("the principal is not a valid name"),
            Self::Disconnect => formatter.write_str("a disconnect cannot be posted"),
        }
    }
}

impl core::error::Error for ServerEventError {}

const TOOLS: &str = "tools_list_changed";
const PROMPTS: &str = "prompts_list_changed";
const RESOURCES: &str = "resources_list_changed";
const EVENTS: &str = "events_list_changed";
const UPDATED: &str = "resource_updated";
const TASK: &str = "task_status";
const FOR_GROUP: &str = "for_group";
const DISCONNECT: &str = "disconnect";
