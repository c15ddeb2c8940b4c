use crate::{event::ServerEvent, sorted::Set};

use super::{edges::Edges, key::Key};

/// What a shard follows at its root, and what has to change about that. Keys that no edge
/// wants any more stay followed for a while: edges go and come back.
#[derive(Debug, Default)]
pub(crate) struct Wants {
    /// The root has confirmed these.
    followed: Set<Key>,
    /// An edge wants them, and the root has not confirmed them.
    missing: Set<Key>,
    /// No edge wants them, and the root may believe otherwise.
    unwanted: Set<Key>,
    is_noisy: bool,
}

/// What one call changes.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) add: Vec<Key>,
    pub(crate) drop: Vec<Key>,
}

impl Wants {
    /// An edge wants `key`.
    pub(crate) fn want(&mut self, key: Key) {
        self.unwanted.remove(&key);
        if !self.followed.contains(&key) {
            self.missing.insert(key);
        }
    }

    /// No edge wants `key` any more.
    pub(crate) fn release(&mut self, key: Key) {
        if !self.missing.remove(&key) {
            self.unwanted.insert(key);
        }
    }

    /// The root follows `key` for this shard.
    pub(crate) fn confirm(&mut self, key: Key) {
        self.missing.remove(&key);
        self.followed.insert(key);
    }

    /// An event came; what of it no edge wants is to be followed no more.
    pub(crate) fn handle_event(&mut self, event: &ServerEvent, edges: &Edges) {
        if edges.is_wanted(&Key::Everything) {
            return;
        }
        let keys = [Some(Key::of(event)), Key::of_audience(event)];
        for key in keys.into_iter().flatten() {
            if !edges.is_wanted(&key) {
                self.unwanted.insert(key);
                self.is_noisy = true;
            }
        }
    }

    pub(crate) fn is_followed(&self, key: &Key) -> bool {
        self.followed.contains(key)
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
    pub(crate) fn begin(&mut self) -> Turn {
        self.is_noisy = false;
        let drop: Vec<Key> = std::mem::take(&mut self.unwanted).into_keys().collect();
        for key in &drop {
            self.followed.remove(key);
        }
        let add = std::mem::take(&mut self.missing).into_keys().collect();
        Turn { add, drop }
    }

    /// The call was answered.
    pub(crate) fn finish(&mut self, turn: Turn, is_wanted: impl Fn(&Key) -> bool) {
        for key in turn.add {
            if !is_wanted(&key) {
                self.unwanted.insert(key.clone());
            }
            self.confirm(key);
        }
    }

    /// The bus has refused the call for want of room. What is to be dropped is dropped again, whether it was or not.
    pub(crate) fn refuse(&mut self, turn: Turn, is_wanted: impl Fn(&Key) -> bool) {
        for key in turn.add {
            if is_wanted(&key) {
                self.missing.insert(key);
            } else {
                self.unwanted.remove(&key);
            }
        }
        self.undo(
            Turn {
                add: Vec::new(),
                drop: turn.drop,
            },
            is_wanted,
        );
    }

    /// Nobody knows whether the root has heard of the call.
    pub(crate) fn undo(&mut self, turn: Turn, is_wanted: impl Fn(&Key) -> bool) {
        for key in turn.add.into_iter().chain(turn.drop) {
            if is_wanted(&key) {
                self.missing.insert(key);
            } else {
                self.unwanted.insert(key);
            }
        }
    }
}

/// Beyond this many, a call is made to drop them.
const MOST_UNWANTED: usize = 1_000;
