use alloc::vec::Vec;

use crate::{
    clock::Millis,
    sorted::Set,
    vocabulary::{
        event::ServerEvent,
        topic::{Delta, Topic},
    },
};

use super::reported_room::ReportedRoom;

/// The topics that a node follows at its bus, the changes that are due, and the last request to the
/// bus. One request is pending at a time. Topics that no stream wants any more stay followed for a
/// while, because streams often reconnect.
#[derive(Debug)]
pub(crate) struct InterestTracker {
    /// Topics that the bus has confirmed.
    followed: Set<Topic>,
    /// Topics that are wanted here and that the bus has not confirmed.
    missing: Set<Topic>,
    /// Topics that are not wanted here but that the bus may follow.
    unwanted: Set<Topic>,
    /// Topics of which it is unknown whether the bus follows them: a request that named them had no
    /// reply, or was refused.
    unsure: Set<Topic>,
    is_noisy: bool,
    /// The change that was requested and has no reply yet.
    in_flight: Option<Delta>,
    /// The maximum bytes of the names of all followed topics, as the bus last reported.
    room: ReportedRoom,
}

impl InterestTracker {
    /// Creates an empty set of topics; the bus has room for `room` bytes of names.
    pub(crate) fn new(room: usize) -> Self {
        Self {
            followed: Set::default(),
            missing: Set::default(),
            unwanted: Set::default(),
            unsure: Set::default(),
            is_noisy: false,
            in_flight: None,
            room: ReportedRoom::new(room),
        }
    }

    /// Removes all topics; the known room stays.
    pub(crate) fn forget(&mut self) {
        self.followed = Set::default();
        self.missing = Set::default();
        self.unwanted = Set::default();
        self.unsure = Set::default();
        self.is_noisy = false;
        self.in_flight = None;
    }

    /// Adds `topic`, which is wanted here.
    pub(crate) fn want(&mut self, topic: Topic) {
        self.unwanted.remove(&topic);
        self.is_noisy &= !self.unwanted.is_empty();
        if !self.followed.contains(&topic) {
            self.missing.insert(topic);
        }
    }

    /// Releases `topic`, which is no longer wanted here.
    pub(crate) fn release(&mut self, topic: Topic) {
        self.missing.remove(&topic);
        if self.followed.contains(&topic) || self.unsure.contains(&topic) {
            self.unwanted.insert(topic);
        }
    }

    /// Requests `topic` no more until it is wanted again.
    pub(crate) fn withdraw(&mut self, topic: &Topic) {
        self.missing.remove(topic);
    }

    /// Records that the bus has confirmed `topic`.
    pub(crate) fn confirm(&mut self, topic: Topic) {
        self.missing.remove(&topic);
        self.unsure.remove(&topic);
        self.followed.insert(topic);
    }

    /// Handles an event: topics of it that are not wanted here have to be dropped.
    pub(crate) fn handle_event(&mut self, event: &ServerEvent, is_wanted: impl Fn(&Topic) -> bool) {
        if is_wanted(&Topic::Everything) {
            return;
        }
        let topics = [Some(Topic::of(event)), Topic::of_group(event)];
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

    /// Whether `topic` is requested and the bus has not replied.
    pub(crate) fn is_asked(&self, topic: &Topic) -> bool {
        self.in_flight
            .as_ref()
            .is_some_and(|delta| delta.add.binary_search(topic).is_ok())
    }

    /// Whether a request has no reply yet.
    pub(crate) fn is_asking(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Returns the room at the bus.
    pub(crate) fn room(&mut self) -> &mut ReportedRoom {
        &mut self.room
    }

    /// Whether the bus has room for `new` bytes in addition to the `held` ones, as far as is known.
    pub(crate) fn admits(&mut self, held: usize, new: usize, now: Millis) -> bool {
        self.room.admits(held, new, now)
    }

    /// Whether unwanted topics or the room justify a separate request.
    pub(crate) fn is_due(&self) -> bool {
        self.is_noisy || self.unwanted.len() > MAX_UNWANTED || self.room.is_due()
    }

    /// Whether there is anything to request.
    pub(crate) fn is_changed(&self) -> bool {
        !self.missing.is_empty() || self.is_due()
    }

    /// Begins a request, and returns the change that it states.
    pub(crate) fn begin(&mut self) -> Delta {
        self.is_noisy = false;
        self.room.handle_asked();
        let drop: Vec<Topic> = core::mem::take(&mut self.unwanted).into_keys().collect();
        for topic in &drop {
            self.followed.remove(topic);
        }
        let add = core::mem::take(&mut self.missing).into_keys().collect();
        let delta = Delta { add, drop };
        self.in_flight = Some(delta.clone());
        delta
    }

    /// Handles the confirmation of the request. Returns whether that added anything.
    pub(crate) fn finish(&mut self, is_wanted: impl Fn(&Topic) -> bool) -> bool {
        let delta = self.in_flight.take().unwrap_or_default();
        let has_added = !delta.add.is_empty();
        for topic in &delta.drop {
            self.unsure.remove(topic);
        }
        for topic in delta.add {
            if !is_wanted(&topic) {
                self.unwanted.insert(topic.clone());
            }
            self.confirm(topic);
        }
        has_added
    }

    /// Handles the refusal of the request for lack of room. Repeats its drops, whether they took
    /// effect or not. Returns the topics that it would have added.
    pub(crate) fn refuse(&mut self, is_wanted: impl Fn(&Topic) -> bool) -> Vec<Topic> {
        let Delta { add, drop } = self.in_flight.take().unwrap_or_default();
        for topic in &add {
            if is_wanted(topic) {
                self.missing.insert(topic.clone());
            } else if !self.unsure.contains(topic) {
                self.unwanted.remove(topic);
            }
        }
        self.mark_unconfirmed(drop, is_wanted);
        add
    }

    /// Handles a request without a reply: whether the bus received it is unknown.
    pub(crate) fn undo(&mut self, is_wanted: impl Fn(&Topic) -> bool) {
        let Delta { mut add, drop } = self.in_flight.take().unwrap_or_default();
        add.extend(drop);
        self.mark_unconfirmed(add, is_wanted);
    }

    fn mark_unconfirmed(&mut self, topics: Vec<Topic>, is_wanted: impl Fn(&Topic) -> bool) {
        for topic in topics {
            self.unsure.insert(topic.clone());
            if is_wanted(&topic) {
                self.missing.insert(topic);
            } else {
                self.unwanted.insert(topic);
            }
        }
    }
}

/// Number of unwanted topics beyond which the bus is asked to drop them.
const MAX_UNWANTED: usize = 1_000;
