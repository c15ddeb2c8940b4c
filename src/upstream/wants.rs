use alloc::vec::Vec;

use crate::{
    clock::Millis,
    sorted::Set,
    vocabulary::{
        event::ServerEvent,
        topic::{Delta, Topic},
    },
};

use super::told_room::ToldRoom;

/// What a node follows at its bus, what has to change about that, and what the bus was asked for last: one question at a
/// time. Topics that nobody here wants any more stay followed for a while: who goes may come back.
#[derive(Debug)]
pub(crate) struct Wants {
    /// The bus has confirmed these.
    followed: Set<Topic>,
    /// Somebody here wants them, and the bus has not confirmed them.
    missing: Set<Topic>,
    /// Nobody here wants them, and the bus may believe otherwise.
    unwanted: Set<Topic>,
    is_noisy: bool,
    /// What the bus was asked for and has not answered.
    asked: Option<Delta>,
    /// Bytes that the names of all that is followed may count, as the bus told last.
    room: ToldRoom,
}

impl Wants {
    /// Nothing is followed, and the bus has room for so many bytes of names.
    pub(crate) fn new(room: usize) -> Self {
        Self {
            followed: Set::default(),
            missing: Set::default(),
            unwanted: Set::default(),
            is_noisy: false,
            asked: None,
            room: ToldRoom::new(room),
        }
    }

    /// Nothing is followed any more; what is known of the room stays.
    pub(crate) fn forget(&mut self) {
        self.followed = Set::default();
        self.missing = Set::default();
        self.unwanted = Set::default();
        self.is_noisy = false;
        self.asked = None;
    }

    /// Somebody here wants `topic`.
    pub(crate) fn want(&mut self, topic: Topic) {
        self.unwanted.remove(&topic);
        self.is_noisy &= !self.unwanted.is_empty();
        if !self.followed.contains(&topic) {
            self.missing.insert(topic);
        }
    }

    /// Nobody here wants `topic` any more.
    pub(crate) fn release(&mut self, topic: Topic) {
        if !self.missing.remove(&topic) {
            self.unwanted.insert(topic);
        }
    }

    /// The bus has confirmed `topic`.
    pub(crate) fn confirm(&mut self, topic: Topic) {
        self.missing.remove(&topic);
        self.followed.insert(topic);
    }

    /// An event came; what of it nobody here wants is to be followed no more.
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

    /// Whether the bus is asked for `topic`, and has not answered.
    pub(crate) fn is_asked(&self, topic: &Topic) -> bool {
        self.asked
            .as_ref()
            .is_some_and(|asked| asked.add.contains(topic))
    }

    /// Whether the bus has not answered yet.
    pub(crate) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// What is known of the room at the bus.
    pub(crate) fn room(&mut self) -> &mut ToldRoom {
        &mut self.room
    }

    /// Bytes that the names of all that is followed may count, as far as is known.
    pub(crate) fn room_bytes(&self) -> usize {
        self.room.bytes()
    }

    /// Whether there is room at the bus for `new` bytes beside those that are `held`, as far as is known.
    pub(crate) fn admits(&mut self, held: usize, new: usize, now: Millis) -> bool {
        self.room.admits(held, new, now)
    }

    /// Whether something is worth a question of its own: what is unwanted, or the room.
    pub(crate) fn is_due(&self) -> bool {
        self.is_noisy || self.unwanted.len() > MAX_UNWANTED || self.room.is_due()
    }

    /// Whether anything is to be asked.
    pub(crate) fn is_changed(&self) -> bool {
        !self.missing.is_empty() || self.is_due()
    }

    /// Asks the bus: what that is to change.
    pub(crate) fn begin(&mut self) -> Delta {
        self.is_noisy = false;
        self.room.handle_asked();
        let drop: Vec<Topic> = core::mem::take(&mut self.unwanted).into_keys().collect();
        for topic in &drop {
            self.followed.remove(topic);
        }
        let add = core::mem::take(&mut self.missing).into_keys().collect();
        let asked = Delta { add, drop };
        self.asked = Some(asked.clone());
        asked
    }

    /// The bus follows what it was asked for. Returns whether that added anything.
    pub(crate) fn finish(&mut self, is_wanted: impl Fn(&Topic) -> bool) -> bool {
        let asked = self.asked.take().unwrap_or_default();
        let has_added = !asked.add.is_empty();
        for topic in asked.add {
            if !is_wanted(&topic) {
                self.unwanted.insert(topic.clone());
            }
            self.confirm(topic);
        }
        has_added
    }

    /// The bus has refused what it was asked for, for want of room. What is to be dropped is dropped again, whether it was
    /// or not. Returns what would have been added.
    pub(crate) fn refuse(&mut self, is_wanted: impl Fn(&Topic) -> bool) -> Vec<Topic> {
        let Delta { add, drop } = self.asked.take().unwrap_or_default();
        for topic in &add {
            if is_wanted(topic) {
                self.missing.insert(topic.clone());
            } else {
                self.unwanted.remove(topic);
            }
        }
        self.doubt(drop, is_wanted);
        add
    }

    /// Nobody knows whether the bus has heard of what it was asked for.
    pub(crate) fn undo(&mut self, is_wanted: impl Fn(&Topic) -> bool) {
        let Delta { mut add, drop } = self.asked.take().unwrap_or_default();
        add.extend(drop);
        self.doubt(add, is_wanted);
    }

    fn doubt(&mut self, topics: Vec<Topic>, is_wanted: impl Fn(&Topic) -> bool) {
        for topic in topics {
            if is_wanted(&topic) {
                self.missing.insert(topic);
            } else {
                self.unwanted.insert(topic);
            }
        }
    }
}

/// Beyond this many, the bus is asked to drop them.
const MAX_UNWANTED: usize = 1_000;
