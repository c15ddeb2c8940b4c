use alloc::vec::Vec;

use crate::{sorted::Set, vocabulary::event::ServerEvent};

use super::Topic;

/// An ordered set of topics; the cost of a change does not depend on its size.
#[derive(Clone, Debug, Default)]
pub struct Topics {
    topics: Set<Topic>,
    bytes: usize,
}

impl Topics {
    /// Adds a topic. Returns whether it is new.
    pub fn insert(&mut self, topic: Topic) -> bool {
        let bytes = topic.name_bytes();
        let is_new = self.topics.insert(topic);
        self.bytes += if is_new { bytes } else { 0 };
        is_new
    }

    /// Removes a topic. Returns whether it was present.
    pub fn remove(&mut self, topic: &Topic) -> bool {
        let was_there = self.topics.remove(topic);
        self.bytes -= if was_there { topic.name_bytes() } else { 0 };
        was_there
    }

    /// Whether the set contains a topic.
    pub fn contains(&self, topic: &Topic) -> bool {
        self.topics.contains(topic)
    }

    /// Returns the topics, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Topic> {
        self.topics.iter()
    }

    /// Returns the topics that are not in `others`.
    pub fn without(&self, others: &Self) -> Vec<Topic> {
        let missing = self.iter().filter(|topic| !others.contains(topic));
        missing.cloned().collect()
    }

    /// Returns the bytes that the names of its topics count in a budget.
    pub fn name_bytes(&self) -> usize {
        self.bytes
    }

    /// Whether an interest in these topics includes `event`.
    pub fn accepts(&self, event: &ServerEvent) -> bool {
        if self.contains(&Topic::Everything) {
            return true;
        }
        let is_for = |topic: Topic| self.contains(&topic);
        match event {
            ServerEvent::Disconnect { .. } => {
                is_for(Topic::Disconnects) || is_for(Topic::entry_of(event))
            }
            event => is_for(Topic::entry_of(event)) && Topic::of_group(event).is_none_or(is_for),
        }
    }
}

impl FromIterator<Topic> for Topics {
    fn from_iter<I: IntoIterator<Item = Topic>>(topics: I) -> Self {
        let mut set = Self::default();
        for topic in topics {
            set.insert(topic);
        }
        set
    }
}
