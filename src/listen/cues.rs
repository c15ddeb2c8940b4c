use std::collections::VecDeque;

use crate::{
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    position::Position,
    seeded::{self, Bug},
    sorted::Map,
    task::TaskId,
    uri::Uri,
};

/// The pending cues of one stream: at most one for each key that is honored, however many
/// events came, in the order in which each key first became pending. A key is a kind, a URI or a
/// task; what waits for it is its latest event.
#[derive(Debug)]
pub(crate) struct Cues {
    keys: Keys,
    waiting: Vec<Option<ServerEvent>>,
    queue: VecDeque<(Key, Since)>,
}

/// The place of a key's event in `waiting`.
type Key = usize;

/// When a key became pending, as far as that is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Since {
    /// Where in the log.
    pub(crate) position: Option<Position>,
    /// When its first event was published.
    pub(crate) published: Option<Millis>,
}

#[derive(Debug, Default)]
struct Keys {
    tools: Option<Key>,
    prompts: Option<Key>,
    resources: Option<Key>,
    uris: Map<Uri, Key>,
    tasks: Map<TaskId, Key>,
}

impl Since {
    pub(crate) fn new(position: Option<Position>, published: Option<Millis>) -> Self {
        Self {
            position,
            published,
        }
    }
}

impl Cues {
    pub(crate) fn new(honored: &SubscriptionFilter) -> Self {
        let (keys, count) = Keys::of(honored);
        Self {
            keys,
            waiting: vec![None; count],
            queue: VecDeque::new(),
        }
    }

    /// Queues the event unless its key is not honored; one that waits for the key already gives
    /// way to it, and leaves it its place in the queue. The answer is whether one waited; `None` where the
    /// key is not honored.
    pub(crate) fn push(&mut self, event: &ServerEvent, at: Since) -> Option<bool> {
        let key = self.keys.of_event(event)?;
        if seeded::has(Bug::LosesItsPlace) && self.queue.iter().any(|(waiting, _)| *waiting == key)
        {
            self.queue.retain(|(waiting, _)| *waiting != key);
            self.queue.push_back((key, at));
        }
        match self.waiting.get_mut(key)? {
            Some(waiting) => {
                if waiting != event {
                    *waiting = event.clone();
                }
                Some(true)
            }
            slot @ None => {
                *slot = Some(event.clone());
                self.queue.push_back((key, at));
                Some(false)
            }
        }
    }

    /// Makes room for cues of one more URI, which the filter does not name, as long as there are
    /// fewer than `most` keys; the answer is whether there is room.
    pub(crate) fn admit(&mut self, uri: &Uri, most: usize) -> bool {
        let key = self.waiting.len();
        if self.keys.uris.contains_key(uri) {
            return true;
        }
        if key >= most {
            return false;
        }
        self.waiting.push(None);
        self.keys.uris.insert(uri.clone(), key);
        true
    }

    /// How many keys there are, whether anything waits for them or not.
    pub(crate) fn keys(&self) -> usize {
        self.waiting.len()
    }

    /// The next one to tell of, and since when it waits.
    pub(crate) fn pop(&mut self) -> Option<(ServerEvent, Since)> {
        let (key, since) = self.queue.pop_front()?;
        let slot = self.waiting.get_mut(key)?;
        let event = if seeded::has(Bug::ForgetsToQueueAgain) {
            slot.clone()
        } else {
            slot.take()
        };
        Some((event?, since))
    }

    /// Goes on with another filter: what it does not honor is forgotten, pending or not.
    pub(crate) fn refilter(&mut self, honored: &SubscriptionFilter) {
        if seeded::has(Bug::KeepsWhatIsNotHonored) && self.len() > 0 {
            return;
        }
        let mut former = std::mem::replace(self, Self::new(honored));
        for (key, at) in former.queue {
            if let Some(event) = former.waiting.get_mut(key).and_then(Option::take) {
                self.push(&event, at);
            }
        }
    }

    /// The position up to which nothing is pending or missing, where nothing is missing up to `latest`;
    /// `None` while that cannot be told. What came after something missing may wait at any place.
    pub(crate) fn covered(&self, latest: Position) -> Option<Position> {
        if seeded::has(Bug::CoversWhatWaits) {
            return Some(latest);
        }
        let mut covered = latest;
        for (_, at) in &self.queue {
            covered = covered.min(at.position?.previous());
        }
        Some(covered)
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }
}

impl Keys {
    /// The keys of a filter, numbered from zero, and how many they are.
    fn of(honored: &SubscriptionFilter) -> (Self, usize) {
        let mut count = 0;
        let mut next = || {
            count += 1;
            count - 1
        };
        let keys = Self {
            tools: honored.tools_list_changed.then(&mut next),
            prompts: honored.prompts_list_changed.then(&mut next),
            resources: honored.resources_list_changed.then(&mut next),
            uris: numbered(&honored.resource_subscriptions, &mut next),
            tasks: numbered(&honored.task_ids, &mut next),
        };
        (keys, count)
    }

    fn of_event(&self, event: &ServerEvent) -> Option<Key> {
        match event {
            ServerEvent::ToolsListChanged => self.tools,
            ServerEvent::PromptsListChanged => self.prompts,
            ServerEvent::ResourcesListChanged => self.resources,
            ServerEvent::ResourceUpdated { uri } => self.uris.get(uri).copied(),
            ServerEvent::TaskStatus { task } => self.tasks.get(task.id()).copied(),
            ServerEvent::ForAudience { .. } | ServerEvent::Revoked { .. } => None,
        }
    }
}

fn numbered<N: Clone + Ord>(names: &[N], next: &mut impl FnMut() -> Key) -> Map<N, Key> {
    names.iter().map(|name| (name.clone(), next())).collect()
}
