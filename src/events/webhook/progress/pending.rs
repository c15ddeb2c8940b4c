use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::{clock::Millis, vocabulary::position::Position};

use super::super::schedule::{MAX_ATTEMPTS, next_attempt_at};

/// The occurrences that are being sent or wait for their next attempt, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PendingOccurrences(Vec<PendingOccurrence>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PendingOccurrence {
    position: Position,
    /// The failed attempts, except forgiven ones.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    attempts: u32,
    /// When it was first sent; 0: never.
    #[serde(default, skip_serializing_if = "is_never")]
    since: Millis,
    /// When it was last sent.
    #[serde(default, skip_serializing_if = "is_never")]
    last: Millis,
    due: Millis,
    /// How often its failures were forgiven because the endpoint was down.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    forgiven: u32,
    #[serde(skip)]
    in_flight: bool,
}

impl PendingOccurrences {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn oldest(&self) -> Option<Position> {
        self.0.first().map(|one| one.position)
    }

    /// Returns the number of occurrences that are being sent.
    pub(super) fn in_flight(&self) -> usize {
        self.0.iter().filter(|one| one.in_flight).count()
    }

    /// Returns how many may be added, so that some are at hand whenever one may be sent.
    pub(super) fn room(&self, now: Millis) -> usize {
        let is_due = |one: &&PendingOccurrence| one.in_flight || one.due <= now;
        let due = self.0.iter().filter(is_due).count();
        let rest = MAX_PENDING.saturating_sub(self.len());
        MAX_DUE.saturating_sub(due).min(rest)
    }

    /// Returns how many may be added while the endpoint is down.
    pub(super) fn room_while_down(&self) -> usize {
        MAX_PENDING_WHILE_DOWN.saturating_sub(self.len())
    }

    /// Adds an occurrence after all others.
    pub(super) fn add(&mut self, position: Position, now: Millis) {
        self.0.push(PendingOccurrence {
            position,
            attempts: 0,
            since: Millis(0),
            last: Millis(0),
            due: now,
            forgiven: 0,
            in_flight: false,
        });
    }

    pub(super) fn remove(&mut self, position: Position) {
        self.0.retain(|one| one.position != position);
    }

    pub(super) fn remove_through(&mut self, position: Position) {
        self.0.retain(|one| one.position > position);
    }

    /// Removes those between two positions that are not being sent. Returns whether there were any.
    pub(super) fn remove_waiting(&mut self, after: Position, through: Position) -> bool {
        let count = self.len();
        self.0.retain(|one| {
            let is_between = one.position > after && one.position <= through;
            one.in_flight || !is_between
        });
        self.len() < count
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the first one to send now.
    pub(super) fn due(&self, now: Millis) -> Option<Position> {
        let mut waiting = self.0.iter().filter(|one| !one.in_flight);
        let due = waiting.find(|one| one.due <= now);
        due.map(|one| one.position)
    }

    /// Returns the oldest one, or another one if the oldest one was sent before: those that were
    /// never sent come first.
    pub(super) fn oldest_or_other(&self, is_other: bool) -> Option<Position> {
        let (oldest, rest) = self.0.split_first()?;
        let other = rest.iter().min_by_key(|one| one.last);
        let other = other.filter(|_| is_other && !is_never(&oldest.last));
        Some(other.unwrap_or(oldest).position)
    }

    /// Returns when the first one is due that is not being sent.
    pub(super) fn timeout(&self) -> Option<Millis> {
        let waiting = self.0.iter().filter(|one| !one.in_flight);
        waiting.map(|one| one.due).min()
    }

    /// Handles that an occurrence is being sent.
    pub(super) fn start(&mut self, position: Position, now: Millis) {
        if let Some(one) = self.get_mut(position) {
            one.in_flight = true;
            one.last = now;
            if one.since == Millis(0) {
                one.since = now;
            }
        }
    }

    /// Handles that it is no longer being sent.
    pub(super) fn stop(&mut self, position: Position) {
        if let Some(one) = self.get_mut(position) {
            one.in_flight = false;
        }
    }

    /// Counts a failed attempt. Returns whether the occurrence has to be abandoned: after
    /// [`MAX_ATTEMPTS`], unless the endpoint is down.
    pub(super) fn fail(
        &mut self,
        position: Position,
        is_down: bool,
        retry_after: Option<Millis>,
        now: Millis,
        random: f64,
    ) -> bool {
        let Some(one) = self.get_mut(position) else {
            return false;
        };
        one.attempts = one.attempts.saturating_add(1);
        if one.attempts < MAX_ATTEMPTS {
            one.due = next_attempt_at(one.attempts, one.since, retry_after, now, random);
            return false;
        }
        !is_down || one.forgiven >= MAX_FORGIVEN
    }

    /// Makes all of them due, because the endpoint is up again, and forgives their failures. An
    /// occurrence is forgiven a few times only: one that is never accepted has to be abandoned.
    pub(super) fn forgive(&mut self, now: Millis) {
        for one in &mut self.0 {
            one.due = now;
            if one.attempts > 0 && one.forgiven < MAX_FORGIVEN {
                one.forgiven += 1;
                one.attempts = 0;
                one.since = Millis(0);
            }
        }
    }

    fn get_mut(&mut self, position: Position) -> Option<&mut PendingOccurrence> {
        let place = self.0.binary_search_by_key(&position, |one| one.position);
        self.0.get_mut(place.ok()?)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_never(at: &Millis) -> bool {
    *at == Millis(0)
}

/// Maximum number of occurrences that are due or being sent: more are not taken from the log.
const MAX_DUE: usize = 4;
/// Maximum number of occurrences that are being sent or wait for another attempt.
const MAX_PENDING: usize = 200;
/// The same while the endpoint is down.
const MAX_PENDING_WHILE_DOWN: usize = 8;
/// How often the failures of an occurrence are forgiven.
const MAX_FORGIVEN: u32 = 3;
