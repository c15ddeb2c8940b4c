use alloc::vec::Vec;

use crate::{
    sorted::{Map, Set},
    vocabulary::event::ServerEvent,
};

use super::{ChangedTopics, Topic, Topics};

/// Maps each topic to the ids that are interested in it. It is updated one topic at a time: a
/// publish costs what matches, and an update what changes, independent of the size of the index.
#[derive(Debug)]
pub struct Index<Id> {
    wanted: Map<Topic, Ids<Id>>,
    /// The number of distinct principals among the topics.
    principals: usize,
    name_bytes: usize,
    changed: ChangedTopics,
}

/// The ids of one topic. Most topics have a single id, which takes no allocation.
#[derive(Debug, Default)]
enum Ids<Id> {
    #[default]
    None,
    One(Id),
    Many(Set<Id>),
}

impl<Id: Copy + Ord> Index<Id> {
    /// Enters `id` under `topic`. Returns the topic as the index stores it, so that its text can be
    /// shared.
    pub fn insert(&mut self, id: Id, topic: Topic) -> Topic {
        let shared = self.wanted.key(&topic).cloned().unwrap_or_else(|| {
            self.principals += usize::from(topic.is_principal());
            self.name_bytes += topic.followed_name_bytes();
            self.changed.record(&topic);
            topic
        });
        if let Some(ids) = self.wanted.or_default(shared.clone()) {
            ids.insert(id);
        }
        shared
    }

    /// Removes `id` from `topic`.
    pub fn remove(&mut self, id: Id, topic: &Topic) {
        let Some(ids) = self.wanted.get_mut(topic) else {
            return;
        };
        ids.remove(id);
        if matches!(ids, Ids::None) {
            self.wanted.remove(topic);
            self.principals -= usize::from(topic.is_principal());
            self.name_bytes -= topic.followed_name_bytes();
            self.changed.record(topic);
        }
    }

    /// Returns the topics that were added or removed since the last call. The first call returns
    /// `None`, and the index records changes from then on.
    pub(crate) fn take_changed(&mut self) -> Option<Topics> {
        self.changed.take()
    }

    /// Returns the ids that are interested in `event`, each once, in ascending order.
    pub fn matching(&self, event: &ServerEvent) -> Vec<Id> {
        let mut ids = self.matching_topic(event);
        let ascending = ids.len();
        if let ServerEvent::Disconnect { .. } = event {
            ids.extend(self.under(&Topic::Disconnects));
        }
        ids.extend(self.under(&Topic::Everything));
        // Few connections subscribe to everything.
        if ids.len() > ascending {
            ids.sort_unstable();
            ids.dedup();
        }
        ids
    }

    /// Returns the ids for which some of these topics are followed, each once, in ascending order.
    /// [`Topic::Disconnects`] is followed for every principal.
    pub(crate) fn followers(&self, followed: &[Topic]) -> Vec<Id> {
        let mut ids = Vec::new();
        for topic in followed {
            ids.extend(self.under(topic));
        }
        if followed.contains(&Topic::Disconnects) {
            // Principals are last in the order of topics.
            let last = self.wanted.iter().rev();
            let principals = last.take_while(|(topic, _)| topic.is_principal());
            ids.extend(principals.flat_map(|(_, entered)| entered.iter()));
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Whether any id is interested in `topic`; for [`Topic::Disconnects`], a single principal
    /// suffices.
    pub fn contains(&self, topic: &Topic) -> bool {
        self.wanted.contains_key(topic) || (*topic == Topic::Disconnects && self.principals > 0)
    }

    /// Whether `id` is entered under `topic`.
    pub fn has(&self, id: Id, topic: &Topic) -> bool {
        self.wanted.get(topic).is_some_and(|ids| ids.contains(id))
    }

    /// Returns the union of all topics, in order. Principals are replaced by
    /// [`Topic::Disconnects`].
    pub fn topics(&self) -> impl Iterator<Item = &Topic> {
        let is_implied = self.principals > 0 && !self.wanted.contains_key(&Topic::Disconnects);
        let topics = self.wanted.keys().filter(|topic| !topic.is_principal());
        topics.chain(is_implied.then_some(&Topic::Disconnects))
    }

    /// Returns each topic, in order, with the number of ids that are entered under it.
    pub fn counts(&self) -> impl Iterator<Item = (&Topic, u32)> {
        let count = |ids: &Ids<Id>| u32::try_from(ids.len()).unwrap_or(u32::MAX);
        self.wanted
            .iter()
            .map(move |(topic, ids)| (topic, count(ids)))
    }

    /// Returns the bytes of the names that a bus has to follow for all topics, each name
    /// counted once.
    pub fn name_bytes(&self) -> usize {
        self.name_bytes
    }

    /// Returns the ids that are entered under the topic of `event`, and under its group if it
    /// has one.
    fn matching_topic(&self, event: &ServerEvent) -> Vec<Id> {
        let topic = Topic::entry_of(event);
        let Some(group) = Topic::of_group(event) else {
            return self.under(&topic);
        };
        let both = self.wanted.get(&topic).zip(self.wanted.get(&group));
        let Some((ids, of_group)) = both else {
            return Vec::new();
        };
        if of_group.len() < ids.len() {
            of_group.common(ids)
        } else {
            ids.common(of_group)
        }
    }

    /// Returns the ids that are entered under `topic`.
    fn under(&self, topic: &Topic) -> Vec<Id> {
        let ids = self.wanted.get(topic);
        ids.map_or_else(Vec::new, Ids::to_vec)
    }
}

impl<Id> Default for Index<Id> {
    fn default() -> Self {
        Self {
            wanted: Map::default(),
            principals: 0,
            name_bytes: 0,
            changed: ChangedTopics::default(),
        }
    }
}

impl<Id: Copy + Ord> Ids<Id> {
    fn insert(&mut self, id: Id) {
        match self {
            Self::None => *self = Self::One(id),
            Self::One(known) if *known == id => {}
            Self::One(known) => {
                let mut ids = Set::default();
                ids.insert(*known);
                ids.insert(id);
                *self = Self::Many(ids);
            }
            Self::Many(ids) => {
                ids.insert(id);
            }
        }
    }

    fn remove(&mut self, id: Id) {
        match self {
            Self::One(known) if *known == id => *self = Self::None,
            Self::Many(ids) => {
                ids.remove(&id);
                let last = ids.iter().next().copied();
                if let (Some(last), true) = (last, ids.len() == 1) {
                    *self = Self::One(last);
                }
            }
            Self::None | Self::One(_) => {}
        }
    }

    fn contains(&self, id: Id) -> bool {
        match self {
            Self::None => false,
            Self::One(known) => *known == id,
            Self::Many(ids) => ids.contains(&id),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(_) => 1,
            Self::Many(ids) => ids.len(),
        }
    }

    /// Returns the ids that a larger set has too, in ascending order.
    fn common(&self, larger: &Self) -> Vec<Id> {
        let mut ids = self.to_vec();
        if ids.len().saturating_mul(LOOKUP_COST) < larger.len() {
            ids.retain(|id| larger.contains(*id));
            return ids;
        }
        // Both ascend.
        let larger = larger.to_vec();
        let mut others = larger.as_slice();
        ids.retain(|id| {
            while let [other, rest @ ..] = others
                && other < id
            {
                others = rest;
            }
            others.first() == Some(id)
        });
        ids
    }

    fn to_vec(&self) -> Vec<Id> {
        let mut ids = Vec::with_capacity(self.len());
        // Passes each run at once: `collect` would step through all parts of the iterator.
        self.iter().for_each(|id| ids.push(id));
        ids
    }

    fn iter(&self) -> impl Iterator<Item = Id> + '_ {
        let (one, many) = match self {
            Self::None => (None, None),
            Self::One(id) => (Some(*id), None),
            Self::Many(ids) => (None, Some(ids)),
        };
        one.into_iter()
            .chain(many.into_iter().flat_map(Set::iter).copied())
    }
}

/// To look an id up in a set costs about as much as to pass this number of ids.
const LOOKUP_COST: usize = 16;
