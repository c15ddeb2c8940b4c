use alloc::collections::VecDeque;

use crate::{
    clock::Millis,
    sorted::Map,
    vocabulary::{event::ServerEvent, position::Position, topic::Topic},
};

/// The pending cues of one stream: at most one for each topic, however many events came, in the order in which each
/// topic first became pending. What waits for a topic is its latest event.
#[derive(Debug, Default)]
pub(crate) struct Cues {
    waiting: Map<Topic, ServerEvent>,
    queue: VecDeque<(Topic, Since)>,
}

/// When a topic became pending, as far as that is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Since {
    /// Where in the log.
    pub(crate) position: Option<Position>,
    /// When its first event was published.
    pub(crate) published: Option<Millis>,
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
    /// Queues the event; one that waits for its topic already gives way to it, and leaves it its place in the queue.
    /// Returns whether one waited.
    pub(crate) fn push(&mut self, event: &ServerEvent, at: Since) -> bool {
        let topic = Topic::of(event);
        let former = self.waiting.insert(topic.clone(), event.clone());
        if former.is_none() {
            self.queue.push_back((topic, at));
        }
        former.is_some()
    }

    /// Whether an event waits for a topic.
    pub(crate) fn has(&self, topic: &Topic) -> bool {
        self.waiting.contains_key(topic)
    }

    /// The next one to tell of, and since when it waits.
    pub(crate) fn pop(&mut self) -> Option<(ServerEvent, Since)> {
        let (topic, since) = self.queue.pop_front()?;
        Some((self.waiting.remove(&topic)?, since))
    }

    /// Forgets what is not to be told any more.
    pub(crate) fn retain(&mut self, is_honored: impl Fn(&ServerEvent) -> bool) {
        let waiting = &mut self.waiting;
        self.queue.retain(|(topic, _)| {
            let is_kept = waiting.get(topic).is_some_and(&is_honored);
            if !is_kept {
                waiting.remove(topic);
            }
            is_kept
        });
    }

    /// The position up to which nothing is pending or missing, where nothing is missing up to `latest`;
    /// `None` while that cannot be told. What came after something missing may wait at any place.
    pub(crate) fn covered(&self, latest: Position) -> Option<Position> {
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
