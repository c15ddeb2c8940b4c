use alloc::{boxed::Box, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    clock::Millis,
    events::page::Page,
    vocabulary::position::{Mark, Position},
};

use super::{
    outcome::Failure,
    schedule::{MAX_ATTEMPTS, MAX_FAILURES, PROBE, again_at, spread},
};

/// How far the delivery of a subscription is.
///
/// Every occurrence up to `read` is delivered, abandoned, or one of `tries`: so the watermark is
/// right before the oldest of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Progress {
    epoch: Box<str>,
    read: Position,
    /// The occurrences that are being sent or wait for their next attempt, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tries: Vec<Try>,
    /// The failures in a row.
    #[serde(default, skip_serializing_if = "is_zero")]
    failures: u32,
    /// When the first of them happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failing_since: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_failure: Option<Failure>,
    /// When the next message is tried while the endpoint is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probe_at: Option<Millis>,
    /// The probes since the endpoint is down.
    #[serde(skip)]
    probes: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gap: Option<Gap>,
    /// Whether the client has to learn that occurrences were not delivered.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    is_truncated: bool,
    /// When it was first told so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    truncated_told_at: Option<Millis>,
    /// Whether more than positions has changed since it was stored.
    #[serde(skip)]
    is_dirty: bool,
    /// Whether `tries` have changed since it was stored.
    #[serde(skip)]
    are_tries_dirty: bool,
}

/// An occurrence that is not delivered yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Try {
    position: Position,
    /// The failures that count.
    #[serde(default, skip_serializing_if = "is_zero")]
    attempts: u32,
    /// When it was first sent; 0: never.
    #[serde(default, skip_serializing_if = "is_never")]
    since: Millis,
    /// When it was last sent.
    #[serde(default, skip_serializing_if = "is_never")]
    last: Millis,
    due: Millis,
    /// How often its failures were forgiven because the endpoint was down.
    #[serde(default, skip_serializing_if = "is_zero")]
    forgiven: u32,
    #[serde(skip)]
    in_flight: bool,
}

/// The message that occurrences were not delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Gap {
    epoch: Box<str>,
    /// What comes after this is not delivered in part.
    position: Position,
    #[serde(default, skip_serializing_if = "is_zero")]
    attempts: u32,
    /// When the gap was noticed, which is different for each gap of a subscription.
    pub(super) at: Millis,
    due: Millis,
    #[serde(skip)]
    in_flight: bool,
}

/// A failed attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed {
    pub(super) failure: Failure,
    pub(super) retry_after: Option<Millis>,
    /// Whether it says nothing about the endpoint.
    pub(super) is_excused: bool,
}

impl Progress {
    pub(super) fn new(mark: Mark) -> Self {
        Self {
            epoch: mark.epoch,
            read: mark.position,
            tries: Vec::new(),
            failures: 0,
            failing_since: None,
            last_failure: None,
            probe_at: None,
            probes: 0,
            gap: None,
            is_truncated: false,
            truncated_told_at: None,
            is_dirty: false,
            are_tries_dirty: false,
        }
    }

    pub(super) fn epoch(&self) -> &str {
        &self.epoch
    }

    /// Returns up to where the log was read.
    pub(super) fn read(&self) -> Position {
        self.read
    }

    /// Returns the position up to which every occurrence is delivered or abandoned.
    pub(super) fn watermark(&self) -> Mark {
        let oldest = self.tries.first();
        let position = oldest.map_or(self.read, |oldest| oldest.position.previous());
        self.mark_at(position)
    }

    /// Returns a position of the log of this subscription.
    pub(super) fn mark_at(&self, position: Position) -> Mark {
        Mark {
            epoch: self.epoch.clone(),
            position,
        }
    }

    /// Whether every occurrence that was read is delivered or abandoned.
    pub(super) fn is_level(&self) -> bool {
        self.tries.is_empty()
    }

    /// Whether it has to be stored, unless only positions have changed.
    pub(super) fn is_dirty(&self) -> bool {
        self.is_dirty || (self.are_tries_dirty && !self.is_level())
    }

    /// Handles that it was stored.
    pub(super) fn stored(&mut self) {
        self.is_dirty = false;
        self.are_tries_dirty = false;
    }

    /// Whether the endpoint is down: one message at a time is tried.
    pub(super) fn is_throttled(&self) -> bool {
        self.failures >= MAX_FAILURES
    }

    pub(super) fn failing_since(&self) -> Option<Millis> {
        self.failing_since
    }

    pub(super) fn last_failure(&self) -> Option<Failure> {
        self.last_failure
    }

    /// Returns whether the client has to learn that occurrences were not delivered: an answer may be
    /// lost, so all those of a minute tell it.
    pub(super) fn tell_truncated(&mut self, now: Millis) -> bool {
        let told_at = self.truncated_told_at.filter(|at| *at + TELLING <= now);
        self.is_dirty |= self.is_truncated;
        if self.is_truncated {
            self.truncated_told_at.get_or_insert(now);
        }
        self.is_truncated &= told_at.is_none();
        self.is_truncated
    }

    /// Returns how many occurrences may be added.
    pub(super) fn room(&self, now: Millis) -> usize {
        if self.is_throttled() {
            return MAX_THROTTLED.saturating_sub(self.tries.len());
        }
        let is_open = |one: &&Try| one.in_flight || one.due <= now;
        let open = self.tries.iter().filter(is_open).count();
        MAX_FLIGHTS
            .saturating_sub(open)
            .min(MAX_TRIES.saturating_sub(self.tries.len()))
    }

    /// Adds an occurrence after all others.
    pub(super) fn add(&mut self, position: Position, now: Millis) {
        self.read = position;
        self.are_tries_dirty = true;
        self.tries.push(Try {
            position,
            attempts: 0,
            since: Millis(0),
            last: Millis(0),
            due: now,
            forgiven: 0,
            in_flight: false,
        });
    }

    /// Passes everything up to a position that was not added.
    pub(super) fn advance(&mut self, through: Position) {
        self.read = self.read.max(through);
    }

    /// Skips everything up to a position, which the client has by other means.
    pub(super) fn skip(&mut self, through: Position) {
        self.advance(through);
        self.are_tries_dirty = true;
        self.tries.retain(|one| one.position > through);
    }

    /// Begins in another log.
    fn begin(&mut self, mark: Mark, now: Millis) {
        self.tries.clear();
        self.epoch = mark.epoch;
        self.read = mark.position;
        self.note_gap(mark.position, now);
    }

    /// Handles that the log no longer has what was between two positions.
    fn lose(&mut self, after: Position, through: Position, now: Millis) {
        let count = self.tries.len();
        let is_lost = |one: &Try| one.position > after && one.position <= through && !one.in_flight;
        self.tries.retain(|one| !is_lost(one));
        let is_behind = self.read == after && after < through;
        if is_behind {
            self.read = through;
        }
        if is_behind || self.tries.len() < count {
            self.are_tries_dirty = true;
            self.note_gap(through, now);
        }
    }

    /// Takes notice of a page that was read after a position: what it lacks is gone.
    pub(super) fn meet(&mut self, after: &Mark, page: &Page, now: Millis) {
        if *self.epoch != *page.epoch {
            return self.begin(page.mark_at(page.from), now);
        }
        if *after.epoch != *page.epoch {
            return;
        }
        if page.trimmed {
            self.lose(after.position, page.from, now);
        }
        let next = after.position.next();
        if page.through < next && self.get_mut(next).is_some_and(|one| !one.in_flight) {
            self.abandon(next, now);
        }
    }

    /// Returns the occurrence to send now.
    pub(super) fn due(&self, now: Millis) -> Option<Position> {
        let flights = self.flights();
        if self.is_throttled() {
            let is_due = flights == 0 && self.probe_at.is_none_or(|at| at <= now);
            return self.probe().filter(|_| is_due);
        }
        let mut tries = self.tries.iter().filter(|_| flights < MAX_FLIGHTS);
        let due = tries.find(|one| !one.in_flight && one.due <= now);
        due.map(|one| one.position)
    }

    /// Returns what is tried next while the endpoint is down: the oldest and another one by turns,
    /// so that an occurrence that no endpoint accepts does not hold up the others.
    fn probe(&self) -> Option<Position> {
        let (oldest, rest) = self.tries.split_first()?;
        let other = rest.iter().min_by_key(|one| one.last);
        let other = other.filter(|_| self.probes % 2 == 1);
        Some(other.unwrap_or(oldest).position)
    }

    /// Handles that an occurrence is being sent, or that it is found out whether it is.
    pub(super) fn start(&mut self, position: Position, now: Millis) {
        if let Some(one) = self.get_mut(position) {
            one.in_flight = true;
            one.last = now;
            if one.since == Millis(0) {
                one.since = now;
            }
        }
    }

    /// Handles that the endpoint has an occurrence.
    pub(super) fn succeed(&mut self, position: Position, now: Millis) {
        self.settle(position);
        if self.is_throttled() {
            self.reopen(now);
        }
        self.is_dirty |= self.last_failure.is_some();
        self.failures = 0;
        self.failing_since = None;
        self.last_failure = None;
        self.probe_at = None;
    }

    /// Handles that an occurrence needs no delivery.
    pub(super) fn settle(&mut self, position: Position) {
        self.are_tries_dirty = true;
        self.tries.retain(|one| one.position != position);
    }

    /// Notes the failure of a message that the endpoint does not want.
    pub(super) fn decline(&mut self, position: Position, failure: Failure) {
        self.settle(position);
        self.is_dirty = true;
        self.last_failure = Some(failure);
    }

    /// Handles that an occurrence could not be delivered.
    pub(super) fn fail(&mut self, position: Position, failed: Failed, now: Millis, random: f64) {
        let was_throttled = self.is_throttled();
        self.is_dirty = true;
        self.last_failure = Some(failed.failure);
        if !failed.is_excused {
            self.failures = self.failures.saturating_add(1);
            self.failing_since.get_or_insert(now);
        }
        if self.is_throttled() {
            self.probes = if was_throttled { self.probes + 1 } else { 0 };
            self.probe_at = Some(now + spread(self.pause(), random));
        }
        let is_throttled = self.is_throttled();
        let Some(one) = self.get_mut(position) else {
            return;
        };
        one.in_flight = false;
        if was_throttled {
            return;
        }
        one.attempts = one.attempts.saturating_add(1);
        if one.attempts < MAX_ATTEMPTS {
            one.due = again_at(one.attempts, one.since, failed.retry_after, now, random);
        } else if !is_throttled || one.forgiven >= MAX_FORGIVEN {
            self.abandon(position, now);
        }
    }

    /// Makes the endpoint a candidate again, although it is down.
    pub(super) fn hurry(&mut self) {
        self.probe_at = None;
    }

    /// Returns the message that occurrences were not delivered if it is to be sent now: not before
    /// the endpoint accepts messages.
    pub(super) fn due_gap(&self, now: Millis) -> Option<(&Gap, Mark)> {
        let gap = self.gap.as_ref();
        let gap = gap.filter(|gap| self.failures == 0 && !gap.in_flight && gap.due <= now)?;
        let mark = Mark {
            epoch: gap.epoch.clone(),
            position: gap.position,
        };
        Some((gap, mark))
    }

    /// Handles that the message about the gap of this time is being sent.
    pub(super) fn start_gap(&mut self) {
        if let Some(gap) = &mut self.gap {
            gap.in_flight = true;
        }
    }

    /// Handles that the endpoint has received, or does not want, the message about a gap.
    pub(super) fn settle_gap(&mut self, at: Millis) {
        self.is_dirty = true;
        self.gap.take_if(|gap| gap.at == at);
    }

    /// Handles that this message could not be delivered.
    pub(super) fn fail_gap(&mut self, at: Millis, now: Millis, random: f64) {
        self.is_dirty = true;
        if let Some(gap) = self.gap.as_mut().filter(|gap| gap.at == at) {
            gap.in_flight = false;
            gap.attempts += 1;
            gap.due = again_at(gap.attempts, at, None, now, random);
        }
        self.gap.take_if(|gap| gap.attempts >= MAX_ATTEMPTS);
    }

    /// Returns when something is due that is not being sent.
    pub(super) fn timeout(&self) -> Option<Millis> {
        let gap = self.gap.as_ref();
        let gap = gap.filter(|gap| self.failures == 0 && !gap.in_flight);
        let gap = gap.map(|gap| gap.due);
        let flights = self.flights();
        let tries = if self.is_throttled() {
            let waits = !self.tries.is_empty() && flights == 0;
            waits.then(|| self.probe_at.unwrap_or_default())
        } else {
            let waiting = self.tries.iter().filter(|one| !one.in_flight);
            waiting.map(|one| one.due).min()
        };
        [gap, tries].into_iter().flatten().min()
    }

    /// Returns the number of occurrences that wait to be delivered.
    pub(super) fn len(&self) -> usize {
        self.tries.len()
    }

    fn flights(&self) -> usize {
        self.tries.iter().filter(|one| one.in_flight).count()
    }

    fn pause(&self) -> Millis {
        Millis(PROBE.0 / self.tries.len().clamp(1, 2) as u64)
    }

    /// Sends everything again: the endpoint is back. What failed meanwhile is forgiven, but not for
    /// ever: an occurrence that is never accepted has to end.
    fn reopen(&mut self, now: Millis) {
        for one in &mut self.tries {
            one.due = now;
            if one.attempts > 0 && one.forgiven < MAX_FORGIVEN {
                one.forgiven += 1;
                one.attempts = 0;
                one.since = Millis(0);
            }
        }
    }

    fn abandon(&mut self, position: Position, now: Millis) {
        self.settle(position);
        self.note_gap(position.previous(), now);
    }

    /// Notes that something after `position` is not delivered.
    fn note_gap(&mut self, position: Position, now: Millis) {
        self.is_truncated = true;
        self.truncated_told_at = None;
        self.is_dirty = true;
        let former = self.gap.take();
        let at = former
            .as_ref()
            .map_or(now, |gap| now.max(gap.at + Millis(1)));
        let former = former.filter(|gap| gap.epoch == self.epoch);
        self.gap = Some(Gap {
            epoch: self.epoch.clone(),
            position: former.map_or(position, |gap| gap.position.min(position)),
            attempts: 0,
            at,
            due: now,
            in_flight: false,
        });
    }

    fn place(&self, position: Position) -> Option<usize> {
        let place = self
            .tries
            .binary_search_by_key(&position, |one| one.position);
        place.ok()
    }

    fn get_mut(&mut self, position: Position) -> Option<&mut Try> {
        let place = self.place(position)?;
        self.tries.get_mut(place)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_never(at: &Millis) -> bool {
    *at == Millis(0)
}

/// How often the failures of an occurrence are forgiven.
const MAX_FORGIVEN: u32 = 3;
/// How long a client is told that occurrences were not delivered.
const TELLING: Millis = Millis(60_000);
/// Maximum number of occurrences of a subscription that are being sent.
const MAX_FLIGHTS: usize = 4;
/// Maximum number that are being sent or wait for another attempt.
const MAX_TRIES: usize = 200;
/// The same while the endpoint is down.
const MAX_THROTTLED: usize = 8;
