use crate::{
    event::ServerEvent,
    sorted::Set,
    topic::{Delta, Topic},
};

/// What a shard follows at its root, and what has to change about that. Topics that no edge
/// wants any more stay followed for a while: edges go and come back.
#[derive(Debug, Default)]
pub(crate) struct Wants {
    /// The root has confirmed these.
    followed: Set<Topic>,
    /// An edge wants them, and the root has not confirmed them.
    missing: Set<Topic>,
    /// No edge wants them, and the root may believe otherwise.
    unwanted: Set<Topic>,
    is_noisy: bool,
}

impl Wants {
    /// An edge wants `topic`.
    pub(crate) fn want(&mut self, topic: Topic) {
        self.unwanted.remove(&topic);
        if !self.followed.contains(&topic) {
            self.missing.insert(topic);
        }
    }

    /// No edge wants `topic` any more.
    pub(crate) fn release(&mut self, topic: Topic) {
        if !self.missing.remove(&topic) {
            self.unwanted.insert(topic);
        }
    }

    /// The root follows `topic` for this shard.
    pub(crate) fn confirm(&mut self, topic: Topic) {
        self.missing.remove(&topic);
        self.followed.insert(topic);
    }

    /// An event came; what of it no edge wants is to be followed no more.
    pub(crate) fn handle_event(&mut self, event: &ServerEvent, is_wanted: impl Fn(&Topic) -> bool) {
        if is_wanted(&Topic::Everything) {
            return;
        }
        let topics = [Some(Topic::of(event)), Topic::of_audience(event)];
        for topic in topics.into_iter().flatten() {
            if !is_wanted(&topic) {
                self.unwanted.insert(topic);
                self.is_noisy = true;
            }
        }
    }

    pub(crate) fn is_followed(&self, topic: &Topic) -> bool {
        self.followed.contains(topic)
    }

    /// Whether what is unwanted is worth a call of its own.
    pub(crate) fn is_due(&self) -> bool {
        self.is_noisy || self.unwanted.len() > MOST_UNWANTED
    }

    /// Whether anything is to be said.
    pub(crate) fn is_changed(&self) -> bool {
        !self.missing.is_empty() || self.is_due()
    }

    /// What the next call is to change.
    pub(crate) fn begin(&mut self) -> Delta {
        self.is_noisy = false;
        let drop: Vec<Topic> = std::mem::take(&mut self.unwanted).into_keys().collect();
        for topic in &drop {
            self.followed.remove(topic);
        }
        let add = std::mem::take(&mut self.missing).into_keys().collect();
        Delta { add, drop }
    }

    /// The call was answered.
    pub(crate) fn finish(&mut self, turn: Delta, is_wanted: impl Fn(&Topic) -> bool) {
        for topic in turn.add {
            if !is_wanted(&topic) {
                self.unwanted.insert(topic.clone());
            }
            self.confirm(topic);
        }
    }

    /// The bus has refused the call for want of room. What is to be dropped is dropped again, whether it was or not.
    pub(crate) fn refuse(&mut self, turn: Delta, is_wanted: impl Fn(&Topic) -> bool) {
        for topic in turn.add {
            if is_wanted(&topic) {
                self.missing.insert(topic);
            } else {
                self.unwanted.remove(&topic);
            }
        }
        self.undo(
            Delta {
                add: Vec::new(),
                drop: turn.drop,
            },
            is_wanted,
        );
    }

    /// Nobody knows whether the root has heard of the call.
    pub(crate) fn undo(&mut self, turn: Delta, is_wanted: impl Fn(&Topic) -> bool) {
        for topic in turn.add.into_iter().chain(turn.drop) {
            if is_wanted(&topic) {
                self.missing.insert(topic);
            } else {
                self.unwanted.insert(topic);
            }
        }
    }
}

/// Beyond this many, a call is made to drop them.
const MOST_UNWANTED: usize = 1_000;
