//! What an event is about: the atom of filters, of the index, of cues and of the log's replay.

mod delta;
mod index;
mod set;

use alloc::{borrow::Cow, string::String};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::vocabulary::{event::ServerEvent, scope::Label, task::TaskId, uri::Uri};

pub use delta::Delta;
pub use index::Index;
pub use set::Topics;

/// What an event is about, and so what a subscription to it is entered under.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// Every event, whatever it is about.
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
    /// What is for one audience. An event of one is wanted by who wants what it is about and this.
    Audience(Label),
    /// That a caller may hear nothing any more, whichever it is.
    Revocations,
    /// That this caller may hear nothing any more.
    Principal(Label),
}

/// Of events with the same subject the last one says all: what it is about, and for which audience, or of which caller.
pub(crate) type Subject = (Topic, Option<Label>);

impl Topic {
    /// What `event` is about; never everything.
    pub fn of(event: &ServerEvent) -> Self {
        match event {
            ServerEvent::ToolsListChanged => Self::Tools,
            ServerEvent::PromptsListChanged => Self::Prompts,
            ServerEvent::ResourcesListChanged => Self::Resources,
            ServerEvent::ResourceUpdated { uri } => Self::Resource(uri.clone()),
            ServerEvent::TaskStatus { task } => Self::Task(task.id().clone()),
            ServerEvent::ForAudience { event, .. } => Self::of(event),
            ServerEvent::Revoked { .. } => Self::Revocations,
        }
    }

    /// The event that says that it has changed, where that is all that there is to say.
    pub(crate) fn cue(self) -> Option<ServerEvent> {
        match self {
            Self::Tools => Some(ServerEvent::ToolsListChanged),
            Self::Prompts => Some(ServerEvent::PromptsListChanged),
            Self::Resources => Some(ServerEvent::ResourcesListChanged),
            Self::Resource(uri) => Some(ServerEvent::ResourceUpdated { uri }),
            Self::Task(_)
            | Self::Everything
            | Self::Audience(_)
            | Self::Revocations
            | Self::Principal(_) => None,
        }
    }

    /// What an interest in `event` is entered under; as [`Topic::of`], but for what is about one caller.
    pub(crate) fn entry_of(event: &ServerEvent) -> Self {
        match event {
            ServerEvent::Revoked { principal } => Self::Principal(principal.clone()),
            ServerEvent::ForAudience { event, .. } => Self::entry_of(event),
            event => Self::of(event),
        }
    }

    /// What has to be followed for an edge that is entered under it: who wants to hear of one caller follows all.
    pub(crate) fn followed(&self) -> Self {
        match self {
            Self::Principal(_) => Self::Revocations,
            topic => topic.clone(),
        }
    }

    /// Bytes that the name counts in a budget: its own, and what it takes to hold it. Lists have no names.
    pub fn names(&self) -> usize {
        self.name().map_or(0, |name| name.len() + NAME_BYTES)
    }

    /// As [`Topic::names`], of what has to be followed for it.
    pub(crate) fn followed_names(&self) -> usize {
        if self.is_principal() { 0 } else { self.names() }
    }

    pub(crate) fn is_principal(&self) -> bool {
        matches!(self, Self::Principal(_))
    }

    pub(crate) fn is_resource(&self) -> bool {
        matches!(self, Self::Resource(_))
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Everything
            | Self::Tools
            | Self::Prompts
            | Self::Resources
            | Self::Revocations => None,
            Self::Resource(uri) => Some(uri),
            Self::Task(id) => Some(id),
            Self::Audience(label) | Self::Principal(label) => Some(label),
        }
    }

    /// The topic of the audience that `event` is for.
    pub fn of_audience(event: &ServerEvent) -> Option<Self> {
        event.audience().cloned().map(Self::Audience)
    }

    /// What a later event has to have in common with `event` to say all that it says.
    pub(crate) fn subject_of(event: &ServerEvent) -> Subject {
        let label = match event {
            ServerEvent::Revoked { principal } => Some(principal),
            event => event.audience(),
        };
        (Self::of(event), label.cloned())
    }

    /// Reads what [`Topic::to_text`] wrote; `None` where it is none.
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            EVERYTHING => Some(Self::Everything),
            TOOLS => Some(Self::Tools),
            PROMPTS => Some(Self::Prompts),
            RESOURCES => Some(Self::Resources),
            REVOCATIONS => Some(Self::Revocations),
            _ => match text.split_once(':')? {
                (RESOURCE, uri) => Uri::new(uri, usize::MAX).ok().map(Self::Resource),
                (TASK, id) => TaskId::new(id, usize::MAX).ok().map(Self::Task),
                (AUDIENCE, name) => Label::new(name).ok().map(Self::Audience),
                (PRINCIPAL, name) => Label::new(name).ok().map(Self::Principal),
                _ => None,
            },
        }
    }

    /// The topic as text: `tools`, `resource:note://a`, `task:t`. No two have the same.
    pub fn to_text(&self) -> String {
        let kind = match self {
            Self::Everything => EVERYTHING,
            Self::Tools => TOOLS,
            Self::Prompts => PROMPTS,
            Self::Resources => RESOURCES,
            Self::Resource(_) => RESOURCE,
            Self::Task(_) => TASK,
            Self::Audience(_) => AUDIENCE,
            Self::Principal(_) => PRINCIPAL,
            Self::Revocations => REVOCATIONS,
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
const AUDIENCE: &str = "audience";
const REVOCATIONS: &str = "revocations";
/// What it takes to hold a name, beside its bytes.
const NAME_BYTES: usize = 64;

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
