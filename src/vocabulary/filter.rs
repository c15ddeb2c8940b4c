//! The notification filter: what a client requests, and what of it is honored.

use alloc::{string::String, vec::Vec};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    json::{self, Node, Object},
    sorted::Set,
    vocabulary::{
        capabilities::Capabilities, event::ServerEvent, limits::Limits, name::NameError,
        scope::Scope, task::TaskId, topic::Topic, uri::Uri,
    },
};

/// The filter that a subscription requests, or the subset that is honored (2026-07-28,
/// Subscriptions: Notification Filter).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_excessive_bools, reason = "each stands for one list")]
pub struct SubscriptionFilter {
    /// Whether changes of the list of tools are included.
    #[serde(skip_serializing_if = "is_unset")]
    pub tools_list_changed: bool,
    /// Whether changes of the list of prompts are included.
    #[serde(skip_serializing_if = "is_unset")]
    pub prompts_list_changed: bool,
    /// Whether changes of the list of resources are included.
    #[serde(skip_serializing_if = "is_unset")]
    pub resources_list_changed: bool,
    /// Whether changes of the list of event types are included (SEP-3415, List Changed).
    #[serde(skip_serializing_if = "is_unset")]
    pub events_list_changed: bool,
    /// The resources whose updates are included: exact URIs, without duplicates, in the order of
    /// their first mention.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "once")]
    pub resource_subscriptions: Vec<Uri>,
    /// The tasks whose states are included (SEP-2663, Task Status Notifications): exact ids, as the
    /// URIs above.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "once")]
    pub task_ids: Vec<TaskId>,
    /// The groups and principals of the caller. Set by the server; never parsed from a request
    /// or serialized to a client.
    #[serde(skip)]
    pub scope: Scope,
}

/// Why a JSON value is not a notification filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterError {
    /// Not an object.
    NotAnObject,
    /// The named member is not `true` or `false`.
    NotAFlag(&'static str),
    /// `resourceSubscriptions` is not an array of strings.
    NotUris,
    /// One of the URIs is not valid.
    Uri(NameError),
    /// More distinct URIs than allowed.
    TooManyUris,
    /// `taskIds` is not an array of strings.
    NotTaskIds,
    /// One of the task ids is not valid.
    TaskId(NameError),
    /// More distinct task ids than allowed.
    TooManyTaskIds,
}

impl SubscriptionFilter {
    /// As [`SubscriptionFilter::from_json`], for a part of a larger document.
    pub(crate) fn from_node(node: &Node<'_>, limits: &Limits) -> Result<Self, FilterError> {
        let object = node.as_object().ok_or(FilterError::NotAnObject)?;
        let uris = object.get(URIS).map(|node| uris(node, limits));
        let (resource_subscriptions, beyond_uris) = uris.transpose()?.unwrap_or_default();
        let task_ids = object.get(TASKS).map(|node| task_ids(node, limits));
        let (task_ids, beyond_task_ids) = task_ids.transpose()?.unwrap_or_default();
        let mut flags = [false; LISTS.len()];
        for (is_set, name) in flags.iter_mut().zip(LISTS) {
            *is_set = flag(object, name)?;
        }
        let [tools, prompts, resources, events] = flags;
        let filter = Self {
            tools_list_changed: tools,
            prompts_list_changed: prompts,
            resources_list_changed: resources,
            events_list_changed: events,
            resource_subscriptions,
            task_ids,
            scope: Scope::default(),
        };
        // Limits come last: every other error is reported first.
        beyond_uris.or(beyond_task_ids).map_or(Ok(filter), Err)
    }

    /// Reads a filter from its JSON text. Ignores unknown members, which therefore do not appear in
    /// the acknowledgment.
    ///
    /// # Errors
    /// A [`FilterError`] that says what is wrong; text that is not JSON counts as not an object.
    pub fn from_json(text: &str, limits: &Limits) -> Result<Self, FilterError> {
        let document =
            json::read(text.as_bytes(), limits.depth).map_err(|_| FilterError::NotAnObject)?;
        Self::from_node(&document.root, limits)
    }

    /// Returns the subset of this request that is honored: what the server's capabilities cover
    /// and, if the caller's rights are known, what `authorized` names too. Never a superset
    /// (2026-07-28, Subscriptions: Acknowledgment).
    #[must_use]
    pub fn honored(&self, capabilities: Capabilities, authorized: Option<&Self>) -> Self {
        let may = |topic: &Topic| {
            capabilities.cover(topic) && authorized.is_none_or(|by| by.names(topic))
        };
        let mut honored = self.changes();
        honored.retain(may);
        Self {
            scope: self.scope.clone(),
            ..honored.into()
        }
    }

    /// Whether a subscription with this filter receives `event`; URIs and task ids match as exact
    /// strings.
    pub fn accepts(&self, event: &ServerEvent) -> bool {
        match event {
            ServerEvent::ForGroup { group, event } => {
                self.scope.groups.contains(group) && self.accepts(event)
            }
            ServerEvent::Disconnect { principal } => {
                self.scope.disconnects || self.scope.principals.contains(principal)
            }
            change => self.names(&Topic::of(change)),
        }
    }

    /// Whether the filter names a topic; URIs, task ids and names match as exact strings.
    pub fn names(&self, topic: &Topic) -> bool {
        match topic {
            Topic::Everything => false,
            Topic::Tools => self.tools_list_changed,
            Topic::Prompts => self.prompts_list_changed,
            Topic::Resources => self.resources_list_changed,
            Topic::Resource(uri) if uri.is_of_event_types() => self.events_list_changed,
            Topic::Resource(uri) => self.resource_subscriptions.contains(uri),
            Topic::Task(id) => self.task_ids.contains(id),
            Topic::Group(group) => self.scope.groups.contains(group),
            Topic::Disconnects => self.scope.disconnects,
            Topic::Principal(principal) => self.scope.principals.contains(principal),
        }
    }

    /// Returns the topics under which a subscription with this filter is entered in an
    /// [`Index`](crate::vocabulary::topic::Index).
    #[inline(never)]
    pub fn topics(&self) -> Vec<Topic> {
        let Scope {
            groups,
            principals,
            disconnects,
        } = &self.scope;
        let mut topics = self.changes();
        topics.extend(groups.iter().cloned().map(Topic::Group));
        topics.extend(disconnects.then_some(Topic::Disconnects));
        topics.extend(principals.iter().cloned().map(Topic::Principal));
        topics
    }

    /// Returns the topics without the scope: lists, resources in the order of the request, tasks.
    pub fn changes(&self) -> Vec<Topic> {
        let lists = [
            (self.tools_list_changed, Topic::Tools),
            (self.prompts_list_changed, Topic::Prompts),
            (self.resources_list_changed, Topic::Resources),
        ];
        let lists = lists.into_iter().filter(|(is_wanted, _)| *is_wanted);
        let mut changes: Vec<Topic> = lists.map(|(_, topic)| topic).collect();
        changes.extend(self.events_list_changed.then(Topic::event_types));
        let uris = self.resource_subscriptions.iter().cloned();
        changes.extend(uris.map(Topic::Resource));
        changes.extend(self.task_ids.iter().cloned().map(Topic::Task));
        changes
    }

    /// Returns the filter for the changes of all lists that the server advertises to sessions:
    /// earlier revisions have no event types.
    pub fn lists(capabilities: Capabilities) -> Self {
        Self {
            tools_list_changed: capabilities.tools_list_changed,
            prompts_list_changed: capabilities.prompts_list_changed,
            resources_list_changed: capabilities.resources_list_changed,
            ..Self::default()
        }
    }

    /// Returns one event for each list and resource that this filter names; the state of a task
    /// cannot be reconstructed.
    pub fn subjects(&self) -> Vec<ServerEvent> {
        self.changes().into_iter().filter_map(Topic::cue).collect()
    }

    /// Whether the filter names no list, resource or task.
    pub fn is_empty(&self) -> bool {
        self.changes().is_empty()
    }

    /// Whether `other` accepts every change that this filter accepts.
    pub fn is_subset_of(&self, other: &Self) -> bool {
        let mut groups = self.scope.groups.iter();
        self.changes().iter().all(|topic| other.names(topic))
            && groups.all(|group| other.scope.groups.contains(group))
    }

    /// Returns the filter as compact JSON; unset members are omitted.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }
}

/// Creates a filter from distinct topics. Ignores [`Topic::Everything`], which a filter cannot
/// name.
impl From<Vec<Topic>> for SubscriptionFilter {
    fn from(topics: Vec<Topic>) -> Self {
        let mut filter = Self::default();
        for topic in topics {
            match topic {
                Topic::Everything => {}
                Topic::Tools => filter.tools_list_changed = true,
                Topic::Prompts => filter.prompts_list_changed = true,
                Topic::Resources => filter.resources_list_changed = true,
                Topic::Resource(uri) if uri.is_of_event_types() => {
                    filter.events_list_changed = true;
                }
                Topic::Resource(uri) => filter.resource_subscriptions.push(uri),
                Topic::Task(id) => filter.task_ids.push(id),
                Topic::Group(group) => filter.scope.groups.push(group),
                Topic::Disconnects => filter.scope.disconnects = true,
                Topic::Principal(principal) => filter.scope.principals.push(principal),
            }
        }
        filter
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_unset(flag: &bool) -> bool {
    !flag
}

/// Removes duplicates, keeping the first of each.
fn once<'de, D: Deserializer<'de>, T: Deserialize<'de> + Clone + Ord>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let mut names = Vec::<T>::deserialize(deserializer)?;
    let mut known = Set::default();
    names.retain(|name| known.insert(name.clone()));
    Ok(names)
}

fn flag(object: &Object<'_>, name: &'static str) -> Result<bool, FilterError> {
    let node = object.get(name);
    node.map_or(Ok(false), |node| {
        node.as_bool().ok_or(FilterError::NotAFlag(name))
    })
}

/// The names within the limits, and the limit that was exceeded, if any.
type Bounded<T> = (Vec<T>, Option<FilterError>);

fn uris(node: &Node<'_>, limits: &Limits) -> Result<Bounded<Uri>, FilterError> {
    let uri = |item: &Node<'_>| {
        let text = item.as_str().ok_or(FilterError::NotUris)?;
        Uri::new(text, limits.uri_bytes).map_err(FilterError::Uri)
    };
    let items = node.as_array().ok_or(FilterError::NotUris)?;
    let uris = items.iter().map(uri);
    // The reserved URI is no resource.
    let uris = uris.filter(|uri| !matches!(uri, Ok(uri) if uri.is_of_event_types()));
    distinct(uris, limits.uris, FilterError::TooManyUris)
}

fn task_ids(node: &Node<'_>, limits: &Limits) -> Result<Bounded<TaskId>, FilterError> {
    let task_id = |item: &Node<'_>| {
        let text = item.as_str().ok_or(FilterError::NotTaskIds)?;
        TaskId::new(text, limits.task_id_bytes).map_err(FilterError::TaskId)
    };
    let items = node.as_array().ok_or(FilterError::NotTaskIds)?;
    let ids = items.iter().map(task_id);
    distinct(ids, limits.task_ids, FilterError::TooManyTaskIds)
}

/// Removes duplicates, keeping the first of each and at most `max` of them.
fn distinct<T: Clone + Ord>(
    items: impl Iterator<Item = Result<T, FilterError>>,
    max: usize,
    too_many: FilterError,
) -> Result<Bounded<T>, FilterError> {
    let mut known = Set::default();
    let mut names = Vec::new();
    let mut beyond = None;
    for name in items {
        match name {
            Err(FilterError::Uri(NameError::TooLong) | FilterError::TaskId(NameError::TooLong)) => {
                beyond = name.err();
            }
            Err(error) => return Err(error),
            Ok(name) if known.contains(&name) => {}
            Ok(_) if names.len() >= max => beyond = Some(too_many),
            Ok(name) => {
                known.insert(name.clone());
                names.push(name);
            }
        }
    }
    Ok((names, beyond))
}

impl fmt::Display for FilterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => formatter.write_str("notifications is not an object"),
            Self::NotAFlag(name) => write!(formatter, "{name} is not true or false"),
            Self::NotUris => formatter.write_str("resourceSubscriptions is not an array of uris"),
            Self::Uri(error) => write!(formatter, "a resource uri {error}"),
            Self::TooManyUris => formatter.write_str("too many resource uris"),
            Self::NotTaskIds => formatter.write_str("taskIds is not an array of task ids"),
            Self::TaskId(error) => write!(formatter, "a task id {error}"),
            Self::TooManyTaskIds => formatter.write_str("too many task ids"),
        }
    }
}

impl core::error::Error for FilterError {}

const LISTS: [&str; 4] = [
    "toolsListChanged",
    "promptsListChanged",
    "resourcesListChanged",
    "eventsListChanged",
];
const URIS: &str = "resourceSubscriptions";
const TASKS: &str = "taskIds";
