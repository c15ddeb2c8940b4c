//! Topics: what an event is about. Filters, the index, cues and the log's replay are built from
//! them.

mod changed;
mod delta;
mod index;
mod set;

use alloc::{borrow::Cow, string::String};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::vocabulary::{event::ServerEvent, scope::Name, task::TaskId, uri::Uri};

pub(crate) use changed::ChangedTopics;
pub use delta::Delta;
pub use index::Index;
pub use set::Topics;

/// What an event is about, and what a subscription to it is entered under.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Topic {
    /// Every event, of any topic.
    Everything,
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// One resource.
    Resource(Uri),
    /// One task.
    Task(TaskId),
    /// The events of one group. Such an event is delivered to those interested in both its topic
    /// and its group.
    Group(Name),
    /// The disconnect of any caller.
    Disconnects,
    /// The disconnect of this caller.
    Principal(Name),
}

/// Compaction key: of several events with equal subjects only the latest has to be delivered. It
/// consists of the topic, and the group or the disconnected caller.
pub(crate) type Subject = (Topic, Option<Name>);

impl Topic {
    /// Returns the topic of `event`; never [`Topic::Everything`].
    pub fn of(event: &ServerEvent) -> Self {
        match event {
            ServerEvent::ToolsListChanged => Self::Tools,
            ServerEvent::PromptsListChanged => Self::Prompts,
            ServerEvent::ResourcesListChanged => Self::Resources,
            ServerEvent::EventsListChanged => Self::event_types(),
            ServerEvent::ResourceUpdated { uri } => Self::Resource(uri.clone()),
            ServerEvent::TaskStatus { task } => Self::Task(task.id().clone()),
            ServerEvent::ForGroup { event, .. } => Self::of(event),
            ServerEvent::Disconnect { .. } => Self::Disconnects,
        }
    }

    /// Returns the topic of the list of event types.
    #[inline(never)]
    pub fn event_types() -> Self {
        Self::Resource(Uri::of_event_types())
    }

    /// Returns the event that reports a change of the topic, if that is the whole content of such
    /// an event.
    pub(crate) fn cue(self) -> Option<ServerEvent> {
        match self {
            Self::Tools => Some(ServerEvent::ToolsListChanged),
            Self::Prompts => Some(ServerEvent::PromptsListChanged),
            Self::Resources => Some(ServerEvent::ResourcesListChanged),
            Self::Resource(uri) => Some(ServerEvent::of_resource(uri)),
            Self::Task(_)
            | Self::Everything
            | Self::Group(_)
            | Self::Disconnects
            | Self::Principal(_) => None,
        }
    }

    /// Returns the topic under which an interest in `event` is entered: as [`Topic::of`], except
    /// for the disconnect of one caller.
    pub(crate) fn entry_of(event: &ServerEvent) -> Self {
        match event {
            ServerEvent::Disconnect { principal } => Self::Principal(principal.clone()),
            ServerEvent::ForGroup { event, .. } => Self::entry_of(event),
            event => Self::of(event),
        }
    }

    /// Returns the topic that has to be followed for an edge with this interest: for the disconnect
    /// of one caller, all disconnects.
    pub(crate) fn followed(&self) -> Self {
        match self {
            Self::Principal(_) => Self::Disconnects,
            topic => topic.clone(),
        }
    }

    /// Returns the bytes that the name counts in a budget: its length, and the overhead of storing
    /// it. Lists have no names.
    pub fn name_bytes(&self) -> usize {
        self.name().map_or(0, |name| name.len() + NAME_OVERHEAD)
    }

    /// As [`Topic::name_bytes`], for the topic that has to be followed.
    pub(crate) fn followed_name_bytes(&self) -> usize {
        if self.is_principal() {
            0
        } else {
            self.name_bytes()
        }
    }

    pub(crate) fn is_principal(&self) -> bool {
        matches!(self, Self::Principal(_))
    }

    /// Whether the topic names callers: a principal or a group.
    pub(crate) fn is_of_callers(&self) -> bool {
        matches!(self, Self::Principal(_) | Self::Group(_))
    }

    pub(crate) fn is_resource(&self) -> bool {
        matches!(self, Self::Resource(uri) if !uri.is_of_event_types())
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Everything
            | Self::Tools
            | Self::Prompts
            | Self::Resources
            | Self::Disconnects => None,
            Self::Resource(uri) => Some(uri),
            Self::Task(id) => Some(id),
            Self::Group(name) | Self::Principal(name) => Some(name),
        }
    }

    /// Returns the topic of the group of `event`, if it has one.
    pub fn of_group(event: &ServerEvent) -> Option<Self> {
        event.group().cloned().map(Self::Group)
    }

    /// Returns the compaction key of `event`.
    pub(crate) fn subject_of(event: &ServerEvent) -> Subject {
        let name = match event {
            ServerEvent::Disconnect { principal } => Some(principal),
            event => event.group(),
        };
        (Self::of(event), name.cloned())
    }

    /// Parses the result of [`Topic::to_text`]; `None` if it is not a topic.
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            EVERYTHING => Some(Self::Everything),
            TOOLS => Some(Self::Tools),
            PROMPTS => Some(Self::Prompts),
            RESOURCES => Some(Self::Resources),
            DISCONNECTS => Some(Self::Disconnects),
            _ => match text.split_once(':')? {
                (RESOURCE, uri) => Uri::new(uri, usize::MAX).ok().map(Self::Resource),
                (TASK, id) => TaskId::new(id, usize::MAX).ok().map(Self::Task),
                (GROUP, name) => Name::new(name).ok().map(Self::Group),
                (PRINCIPAL, name) => Name::new(name).ok().map(Self::Principal),
                _ => None,
            },
        }
    }

    /// Returns the topic as text: `tools`, `resource:note://a`, `task:t`. Distinct topics have
    /// distinct texts.
    pub fn to_text(&self) -> String {
        let kind = match self {
            Self::Everything => EVERYTHING,
            Self::Tools => TOOLS,
            Self::Prompts => PROMPTS,
            Self::Resources => RESOURCES,
            Self::Resource(_) => RESOURCE,
            Self::Task(_) => TASK,
            Self::Group(_) => GROUP,
            Self::Principal(_) => PRINCIPAL,
            Self::Disconnects => DISCONNECTS,
        };
        let mut text = String::from(kind);
        if let Some(name) = self.name() {
            text.push(':');
            text.push_str(name);
        }
        text
    }
}

const EVERYTHING: &str = "everything";
const TOOLS: &str = "tools";
const PROMPTS: &str = "prompts";
const RESOURCES: &str = "resources";
const RESOURCE: &str = "resource";
const TASK: &str = "task";
const PRINCIPAL: &str = "principal";
const GROUP: &str = "group";
const DISCONNECTS: &str = "disconnects";
/// Bytes that storing a name takes beside its text.
const NAME_OVERHEAD: usize = 64;

impl Serialize for Topic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for Topic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::from_text(&text).ok_or_else(|| D::Error::custom("no topic"))
    }
}
