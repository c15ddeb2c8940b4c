use std::collections::{BTreeMap, BTreeSet};

use crate::{
    event::ServerEvent,
    filter::SubscriptionFilter,
    scope::{Label, Scope},
    task::TaskId,
    uri::Uri,
};

use super::{interest::Interest, key::Key};

/// One edge of a bus, as the bus numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(pub u32);

/// From an event's key to the edges that want it: publishing costs what matches, not what is attached.
#[derive(Debug, Default)]
pub struct Index {
    everything: BTreeSet<EdgeId>,
    tools: BTreeSet<EdgeId>,
    prompts: BTreeSet<EdgeId>,
    resources: BTreeSet<EdgeId>,
    uris: BTreeMap<Uri, BTreeSet<EdgeId>>,
    tasks: BTreeMap<TaskId, BTreeSet<EdgeId>>,
    audiences: BTreeMap<Label, BTreeSet<EdgeId>>,
    principals: BTreeMap<Label, BTreeSet<EdgeId>>,
    revocations: BTreeSet<EdgeId>,
}

impl Index {
    /// Enters `edge` under each key of its interest.
    pub fn insert(&mut self, edge: EdgeId, interest: &Interest) {
        for edges in self.kinds(interest) {
            edges.insert(edge);
        }
        for uri in interest.uris() {
            self.uris.entry(uri.clone()).or_default().insert(edge);
        }
        for task in interest.tasks() {
            self.tasks.entry(task.clone()).or_default().insert(edge);
        }
        for audience in interest.audiences() {
            let edges = self.audiences.entry(audience.clone()).or_default();
            edges.insert(edge);
        }
        for principal in interest.principals() {
            let edges = self.principals.entry(principal.clone()).or_default();
            edges.insert(edge);
        }
    }

    /// Takes `edge` out again; `interest` is what it was entered with.
    pub fn remove(&mut self, edge: EdgeId, interest: &Interest) {
        for edges in self.kinds(interest) {
            edges.remove(&edge);
        }
        for uri in interest.uris() {
            remove_from(&mut self.uris, uri, edge);
        }
        for task in interest.tasks() {
            remove_from(&mut self.tasks, task, edge);
        }
        for audience in interest.audiences() {
            remove_from(&mut self.audiences, audience, edge);
        }
        for principal in interest.principals() {
            remove_from(&mut self.principals, principal, edge);
        }
    }

    /// The edges that want `event`, each once, in ascending order.
    pub fn matching(&self, event: &ServerEvent) -> Vec<EdgeId> {
        let of_change = self.of_change(event).into_iter().flatten().copied();
        let mut edges: Vec<EdgeId> = of_change.collect();
        if let ServerEvent::ForAudience { audience, .. } = event {
            let of_audience = self.audiences.get(audience);
            edges.retain(|edge| of_audience.is_some_and(|edges| edges.contains(edge)));
        }
        let ascending = edges.len();
        if let ServerEvent::Revoked { .. } = event {
            edges.extend(&self.revocations);
        }
        edges.extend(&self.everything);
        // Mostly there is nobody who wants everything.
        if edges.len() > ascending {
            edges.sort_unstable();
            edges.dedup();
        }
        edges
    }

    fn of_change(&self, event: &ServerEvent) -> Option<&BTreeSet<EdgeId>> {
        match event {
            ServerEvent::ToolsListChanged => Some(&self.tools),
            ServerEvent::PromptsListChanged => Some(&self.prompts),
            ServerEvent::ResourcesListChanged => Some(&self.resources),
            ServerEvent::ResourceUpdated { uri } => self.uris.get(uri),
            ServerEvent::TaskStatus { task } => self.tasks.get(task.id()),
            ServerEvent::ForAudience { event, .. } => self.of_change(event),
            ServerEvent::Revoked { principal } => self.principals.get(principal),
        }
    }

    /// Whether any edge is entered under `key` itself.
    pub fn contains(&self, key: &Key) -> bool {
        match key {
            Key::Everything => !self.everything.is_empty(),
            Key::Tools => !self.tools.is_empty(),
            Key::Prompts => !self.prompts.is_empty(),
            Key::Resources => !self.resources.is_empty(),
            Key::Resource(uri) => self.uris.contains_key(uri),
            Key::Task(id) => self.tasks.contains_key(id),
            Key::Audience(audience) => self.audiences.contains_key(audience),
            Key::Revocations => !self.principals.is_empty() || !self.revocations.is_empty(),
        }
    }

    /// What all the edges want together; which callers they want to be told of is for them to find out.
    pub fn interest(&self) -> Interest {
        if !self.everything.is_empty() {
            return Interest::Everything;
        }
        Interest::Filter(self.filter())
    }

    /// What the edges want together that do not want everything.
    pub fn filter(&self) -> SubscriptionFilter {
        SubscriptionFilter {
            tools_list_changed: !self.tools.is_empty(),
            prompts_list_changed: !self.prompts.is_empty(),
            resources_list_changed: !self.resources.is_empty(),
            resource_subscriptions: self.uris.keys().cloned().collect(),
            task_ids: self.tasks.keys().cloned().collect(),
            scope: Scope {
                audiences: self.audiences.keys().cloned().collect(),
                principals: Vec::new(),
                revocations: self.contains(&Key::Revocations),
            },
        }
    }

    fn kinds(&mut self, interest: &Interest) -> impl Iterator<Item = &mut BTreeSet<EdgeId>> {
        let (everything, filter) = match interest {
            Interest::Everything => (true, None),
            Interest::Filter(filter) => (false, Some(filter)),
        };
        let wants = |wanted: Option<bool>| wanted.unwrap_or_default();
        [
            (everything, &mut self.everything),
            (
                wants(filter.map(|by| by.tools_list_changed)),
                &mut self.tools,
            ),
            (
                wants(filter.map(|by| by.prompts_list_changed)),
                &mut self.prompts,
            ),
            (
                wants(filter.map(|by| by.resources_list_changed)),
                &mut self.resources,
            ),
            (
                wants(filter.map(|by| by.scope.revocations)),
                &mut self.revocations,
            ),
        ]
        .into_iter()
        .filter_map(|(is_wanted, edges)| is_wanted.then_some(edges))
    }
}

fn remove_from<K: Ord>(map: &mut BTreeMap<K, BTreeSet<EdgeId>>, key: &K, edge: EdgeId) {
    if let Some(edges) = map.get_mut(key) {
        edges.remove(&edge);
        if edges.is_empty() {
            map.remove(key);
        }
    }
}
