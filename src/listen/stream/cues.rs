use alloc::collections::VecDeque;

use crate::{
    clock::Millis,
    sorted::Map,
    vocabulary::{event::ServerEvent, position::Position, topic::Topic},
};

/// The pending cues of one stream: at most one for each topic, with its latest event, in the order
/// in which the topics became pending.
#[derive(Debug, Default)]
pub(crate) struct Cues {
    waiting: Map<Topic, ServerEvent>,
    queue: VecDeque<(Topic, Since)>,
}

/// When a topic became pending, as far as that is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Since {
    /// The position in the log.
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
    /// Queues the event. A pending event for the same topic is replaced, in its place in the queue.
    /// Returns whether there was one.
    pub(crate) fn push(&mut self, event: &ServerEvent, at: Since) -> bool {
        let topic = Topic::of(event);
        let former = self.waiting.insert(topic.clone(), event.clone());
        if former.is_none() {
            self.queue.push_back((topic, at));
        }
        former.is_some()
    }

    /// Whether an event is pending for a topic.
    pub(crate) fn has(&self, topic: &Topic) -> bool {
        self.waiting.contains_key(topic)
    }

    /// Removes the next event. Returns it with when its topic became pending.
    pub(crate) fn pop(&mut self) -> Option<(ServerEvent, Since)> {
        let (topic, since) = self.queue.pop_front()?;
        Some((self.waiting.remove(&topic)?, since))
    }

    /// Drops the events that are no longer honored.
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

    /// Returns the position up to which nothing is pending or missing, given that nothing is
    /// missing up to `latest`; `None` if it is unknown. After a gap, the queue is not ordered by
    /// position, so every entry counts.
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
