use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Topic, Topics};

/// A change of an interest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// The topics to add.
    pub add: Vec<Topic>,
    /// The topics to drop, except those that are added too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<Topic>,
}

impl Delta {
    /// Returns the effective change to `topics`: what is new, and what is dropped. An interest in
    /// everything does not change.
    #[must_use]
    pub fn against(&self, topics: &Topics) -> Self {
        if topics.contains(&Topic::Everything) {
            return Self::default();
        }
        let added: Topics = self.add.iter().cloned().collect();
        let dropped: Topics = self.drop.iter().cloned().collect();
        let gone = dropped.iter().filter(|topic| topics.contains(topic));
        let gone = gone.filter(|topic| !added.contains(topic));
        Self {
            drop: gone.cloned().collect(),
            add: added.without(topics),
        }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.drop.is_empty()
    }
}

impl Topics {
    /// Applies a change. A set with [`Topic::Everything`] does not change.
    pub fn apply(&mut self, delta: Delta) {
        if self.contains(&Topic::Everything) {
            return;
        }
        for topic in &delta.drop {
            self.remove(topic);
        }
        for topic in delta.add {
            self.insert(topic);
        }
    }
}
