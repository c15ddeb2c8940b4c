use crate::{event::ServerEvent, filter::SubscriptionFilter, scope::Label, task::TaskId, uri::Uri};

use super::interest::Interest;

/// What an event is about, and so what an interest in it is entered under.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
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
pub(crate) type Subject = (Key, Option<Label>);

impl Key {
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

    /// What an interest in `event` is entered under; as [`Key::of`], but for what is about one caller.
    pub(crate) fn entry_of(event: &ServerEvent) -> Self {
        match event {
            ServerEvent::Revoked { principal } => Self::Principal(principal.clone()),
            ServerEvent::ForAudience { event, .. } => Self::entry_of(event),
            event => Self::of(event),
        }
    }

    /// The keys that an interest is entered under in an [`Index`](super::Index).
    pub fn entries(interest: &Interest) -> Vec<Self> {
        match interest {
            Interest::Everything => vec![Self::Everything],
            Interest::Filter(filter) => Self::entries_of(filter),
        }
    }

    /// As [`Key::entries`], of a filter.
    #[inline(never)]
    pub fn entries_of(filter: &SubscriptionFilter) -> Vec<Self> {
        let mut keys = Vec::new();
        for key in Self::of_filter(filter) {
            if key != Self::Revocations {
                keys.push(key);
            }
        }
        if filter.scope.revocations {
            keys.push(Self::Revocations);
        }
        for principal in &filter.scope.principals {
            keys.push(Self::Principal(principal.clone()));
        }
        keys
    }

    /// What has to be followed for an edge that is entered under it: who wants to hear of one caller follows all.
    pub(crate) fn followed(&self) -> Self {
        match self {
            Self::Principal(_) => Self::Revocations,
            key => key.clone(),
        }
    }

    /// Bytes that the name counts in a budget: its own, and what it takes to hold it. Lists have no names.
    pub fn names(&self) -> usize {
        self.name().map_or(0, |name| name.len() + NAME_BYTES)
    }

    /// As [`Key::names`], of what has to be followed for it.
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

    /// The key of the audience that `event` is for.
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

    /// The keys that an interest is entered under.
    pub fn all_of(interest: &Interest) -> Vec<Self> {
        match interest {
            Interest::Filter(filter) => Self::of_filter(filter).collect(),
            Interest::Everything => vec![Self::Everything],
        }
    }

    /// The keys of what a filter accepts.
    pub fn of_filter(filter: &SubscriptionFilter) -> impl Iterator<Item = Self> + '_ {
        let lists = [
            (filter.tools_list_changed, Self::Tools),
            (filter.prompts_list_changed, Self::Prompts),
            (filter.resources_list_changed, Self::Resources),
        ];
        let lists = lists.into_iter().filter(|(is_wanted, _)| *is_wanted);
        lists
            .map(|(_, key)| key)
            .chain(
                filter
                    .resource_subscriptions
                    .iter()
                    .cloned()
                    .map(Self::Resource),
            )
            .chain(filter.task_ids.iter().cloned().map(Self::Task))
            .chain(filter.scope.audiences.iter().cloned().map(Self::Audience))
            .chain(
                filter
                    .scope
                    .hears_revocations()
                    .then_some(Self::Revocations),
            )
    }

    /// Reads what [`Key::to_text`] wrote; `None` where it is none.
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            EVERYTHING => Some(Self::Everything),
            TOOLS => Some(Self::Tools),
            PROMPTS => Some(Self::Prompts),
            RESOURCES => Some(Self::Resources),
            REVOCATIONS => Some(Self::Revocations),
            _ => match text.split_once(':')? {
                (RESOURCE, uri) => {
                    if let Some(name) = uri.strip_prefix(AUDIENCE) {
                        return Label::new(name).ok().map(Self::Audience);
                    }
                    let uri = uri.strip_prefix(ITSELF).unwrap_or(uri);
                    Uri::new(uri, usize::MAX).ok().map(Self::Resource)
                }
                (PRINCIPAL, name) => Label::new(name).ok().map(Self::Principal),
                (TASK, id) => TaskId::new(id, usize::MAX).ok().map(Self::Task),
                _ => None,
            },
        }
    }

    /// The key as text: `tools`, `resource:note://a`, `task:t`. No two have the same.
    pub fn to_text(&self) -> String {
        let kind = match self {
            Self::Everything => EVERYTHING,
            Self::Tools => TOOLS,
            Self::Prompts => PROMPTS,
            Self::Resources => RESOURCES,
            Self::Resource(_) | Self::Audience(_) => RESOURCE,
            Self::Task(_) => TASK,
            Self::Principal(_) => PRINCIPAL,
            Self::Revocations => REVOCATIONS,
        };
        let mut text = String::from(kind);
        if let Some(name) = self.name() {
            text.push(':');
            match self {
                Self::Audience(_) => text.push_str(AUDIENCE),
                // A resource that would be read as something else.
                Self::Resource(uri) if OURS.iter().any(|ours| uri.starts_with(ours)) => {
                    text.push_str(ITSELF);
                }
                _ => {}
            }
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
/// A root of a version that knows neither takes them for resources that never change, and keeps them for its next version.
const AUDIENCE: &str = "mcp-listen:audience:";
const REVOCATIONS: &str = "resource:mcp-listen:revocations";
/// Before a URI that begins with one of [`OURS`].
const ITSELF: &str = "mcp-listen:resource:";
const OURS: [&str; 3] = [AUDIENCE, ITSELF, "mcp-listen:revocations"];
/// What it takes to hold a name, beside its bytes.
const NAME_BYTES: usize = 64;
