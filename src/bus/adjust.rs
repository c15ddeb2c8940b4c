use crate::{filter::SubscriptionFilter, json::Node, sorted::Set};

use super::{
    interest::{Interest, push_interest},
    key::Key,
    keys::Keys,
    protocol::{ProtocolError, parse, seq_in},
};

/// How the filter of an edge that is attached changes: what others are sent through it comes and goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adjust {
    /// Its number, for the answer.
    pub seq: u64,
    /// What it is to be sent too.
    pub add: SubscriptionFilter,
    /// What it needs no more; what is added too stays.
    pub drop: SubscriptionFilter,
}

impl Adjust {
    /// Reads what [`Adjust::kept`] wrote.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`].
    pub fn from_kept(text: &str) -> Result<Self, ProtocolError> {
        let document = parse(text)?;
        Ok(Self {
            seq: 0,
            add: filter_in(&document.root, "add")?,
            drop: filter_in(&document.root, "drop")?,
        })
    }

    /// Adds nothing: there is no room for it. What it drops is dropped, but for what it was to add too.
    pub(crate) fn refuse(&mut self) {
        self.drop = filter_of(self.gone());
        self.add = SubscriptionFilter::default();
    }

    /// What changes, as JSON text, to be kept with what the edge wanted before.
    pub fn kept(&self) -> String {
        let mut text = String::from("{");
        self.push_changes(&mut text);
        text.push('}');
        text
    }

    /// The keys that an edge is entered under after it and was not before.
    pub fn added(&self, keys: &Keys) -> Vec<Key> {
        let mut added = Key::entries_of(&self.add);
        added.retain(|key| !keys.contains(key));
        added
    }

    /// The keys that an edge is entered under no more after it; what is added, too, stays.
    pub fn dropped(&self, keys: &Keys) -> Vec<Key> {
        let mut dropped = self.gone();
        dropped.retain(|key| keys.contains(key));
        dropped
    }

    /// What is dropped and not added.
    fn gone(&self) -> Vec<Key> {
        let mut stays = Set::default();
        for key in Key::entries_of(&self.add) {
            stays.insert(key);
        }
        let mut gone = Key::entries_of(&self.drop);
        gone.retain(|key| !stays.contains(key));
        gone
    }

    pub(super) fn from_node(root: &Node<'_>) -> Result<Self, ProtocolError> {
        Ok(Self {
            seq: seq_in(root)?,
            add: filter_in(root, "add")?,
            drop: filter_in(root, "drop")?,
        })
    }

    pub(super) fn members(&self) -> String {
        let mut members = String::from("\"seq\":");
        members.push_str(&self.seq.to_string());
        members.push(',');
        self.push_changes(&mut members);
        members
    }

    fn push_changes(&self, text: &mut String) {
        text.push_str("\"add\":");
        push_interest(text, &self.add);
        text.push_str(",\"drop\":");
        push_interest(text, &self.drop);
    }
}

fn filter_in(root: &Node<'_>, member: &str) -> Result<SubscriptionFilter, ProtocolError> {
    match Interest::from_value(root.get(member).ok_or(ProtocolError::Malformed)?)? {
        Interest::Filter(filter) => Ok(filter),
        Interest::Everything => Err(ProtocolError::Malformed),
    }
}

/// A filter of these keys, each of which comes once; all but everything.
#[inline(never)]
pub(crate) fn filter_of(keys: Vec<Key>) -> SubscriptionFilter {
    let mut filter = SubscriptionFilter::default();
    for key in keys {
        match key {
            Key::Everything => {}
            Key::Tools => filter.tools_list_changed = true,
            Key::Prompts => filter.prompts_list_changed = true,
            Key::Resources => filter.resources_list_changed = true,
            Key::Resource(uri) => filter.resource_subscriptions.push(uri),
            Key::Task(id) => filter.task_ids.push(id),
            Key::Audience(audience) => filter.scope.audiences.push(audience),
            Key::Revocations => filter.scope.revocations = true,
            Key::Principal(principal) => filter.scope.principals.push(principal),
        }
    }
    filter
}
