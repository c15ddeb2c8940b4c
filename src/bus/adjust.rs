use crate::{filter::SubscriptionFilter, json::Node, sorted::Set};

use super::{
    interest::{Interest, push_interest},
    key::Key,
    protocol::{ProtocolError, seq_in},
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
    /// What an edge wants after it.
    #[must_use]
    pub fn applied(&self, interest: Interest) -> Interest {
        let Interest::Filter(mut filter) = interest else {
            return interest;
        };
        let Self { add, drop, .. } = self;
        let flag = |is: bool, add: bool, drop: bool| add || (is && !drop);
        filter.tools_list_changed = flag(
            filter.tools_list_changed,
            add.tools_list_changed,
            drop.tools_list_changed,
        );
        filter.prompts_list_changed = flag(
            filter.prompts_list_changed,
            add.prompts_list_changed,
            drop.prompts_list_changed,
        );
        filter.resources_list_changed = flag(
            filter.resources_list_changed,
            add.resources_list_changed,
            drop.resources_list_changed,
        );
        change(
            &mut filter.resource_subscriptions,
            &add.resource_subscriptions,
            &drop.resource_subscriptions,
        );
        change(&mut filter.task_ids, &add.task_ids, &drop.task_ids);
        let (scope, add, drop) = (&mut filter.scope, &add.scope, &drop.scope);
        scope.revocations = flag(scope.revocations, add.revocations, drop.revocations);
        change(&mut scope.audiences, &add.audiences, &drop.audiences);
        change(&mut scope.principals, &add.principals, &drop.principals);
        Interest::Filter(filter)
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
        members.push_str(",\"add\":");
        push_interest(&mut members, &self.add);
        members.push_str(",\"drop\":");
        push_interest(&mut members, &self.drop);
        members
    }
}

/// Names stay in their order, each once.
fn change<N: Clone + Ord>(names: &mut Vec<N>, add: &[N], drop: &[N]) {
    let mut gone = Set::default();
    for name in drop.iter().chain(add) {
        gone.insert(name);
    }
    names.retain(|name| !gone.contains(&name));
    names.extend_from_slice(add);
}

fn filter_in(root: &Node<'_>, member: &str) -> Result<SubscriptionFilter, ProtocolError> {
    match Interest::from_value(root.get(member).ok_or(ProtocolError::Malformed)?)? {
        Interest::Filter(filter) => Ok(filter),
        Interest::Everything => Err(ProtocolError::Malformed),
    }
}

/// A filter of these keys, all but everything.
pub(crate) fn filter_of(keys: &[Key]) -> SubscriptionFilter {
    let mut filter = SubscriptionFilter::default();
    for key in keys {
        match key {
            Key::Everything => {}
            Key::Tools => filter.tools_list_changed = true,
            Key::Prompts => filter.prompts_list_changed = true,
            Key::Resources => filter.resources_list_changed = true,
            Key::Resource(uri) => filter.resource_subscriptions.push(uri.clone()),
            Key::Task(id) => filter.task_ids.push(id.clone()),
            Key::Audience(audience) => filter.scope.audiences.push(audience.clone()),
            Key::Revocations => filter.scope.revocations = true,
        }
    }
    filter
}
