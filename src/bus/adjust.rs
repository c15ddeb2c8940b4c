use crate::{
    filter::SubscriptionFilter,
    json::Node,
    topic::{Topic, Topics},
};

use super::{
    interest::{Interest, push_interest},
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
        self.drop = self.gone().into();
        self.add = SubscriptionFilter::default();
    }

    /// What changes, as JSON text, to be kept with what the edge wanted before.
    pub fn kept(&self) -> String {
        let mut text = String::from("{");
        self.push_changes(&mut text);
        text.push('}');
        text
    }

    /// Adds and drops what it says; everything stays everything.
    pub fn apply(&self, topics: &mut Topics) {
        if topics.contains(&Topic::Everything) {
            return;
        }
        for topic in self.dropped(topics) {
            topics.remove(&topic);
        }
        for topic in self.add.topics() {
            topics.insert(topic);
        }
    }

    /// The topics that an edge is entered under after it and was not before.
    pub fn added(&self, topics: &Topics) -> Vec<Topic> {
        let mut added = self.add.topics();
        added.retain(|topic| !topics.contains(topic));
        added
    }

    /// The topics that an edge is entered under no more after it; what is added, too, stays.
    pub fn dropped(&self, topics: &Topics) -> Vec<Topic> {
        let mut dropped = self.gone();
        dropped.retain(|topic| topics.contains(topic));
        dropped
    }

    /// What is dropped and not added.
    fn gone(&self) -> Vec<Topic> {
        let stays: Topics = self.add.topics().into_iter().collect();
        let mut gone = self.drop.topics();
        gone.retain(|topic| !stays.contains(topic));
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
