use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Topic, Topics};

/// A change of what is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// What is wanted too.
    pub add: Vec<Topic>,
    /// What is wanted no more; what is added too stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<Topic>,
}

impl Delta {
    /// What it comes to where `topics` are wanted: what is new, and what goes. Everything stays everything.
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
