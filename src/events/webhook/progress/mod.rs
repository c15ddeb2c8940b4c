//! How far the delivery of one subscription is.

mod gap;
mod health;
mod tries;

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use crate::{
    clock::Millis,
    events::page::Page,
    vocabulary::position::{Cursor, Position},
};

use super::outcome::Failure;
use gap::Gap;
use health::Health;
use tries::Tries;

/// How far the delivery of a subscription is.
///
/// Every occurrence up to `read` is delivered, abandoned, or one of `tries`: so the watermark is
/// right before the oldest of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Progress {
    epoch: Box<str>,
    read: Position,
    #[serde(default, skip_serializing_if = "Tries::is_empty")]
    tries: Tries,
    #[serde(default, skip_serializing_if = "Health::is_spotless")]
    health: Health,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gap: Option<Gap>,
    /// Whether the client has to learn that occurrences were not delivered.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    is_truncated: bool,
    /// When a response first reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    truncated_told_at: Option<Millis>,
    /// Whether more than positions has changed since it was stored.
    #[serde(skip)]
    is_dirty: bool,
    /// Whether `tries` have changed since it was stored.
    #[serde(skip)]
    are_tries_dirty: bool,
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
    pub(super) fn new(cursor: Cursor) -> Self {
        Self {
            epoch: cursor.epoch,
            read: cursor.position,
            tries: Tries::default(),
            health: Health::default(),
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
    pub(super) fn read(&self) -> Cursor {
        self.cursor_at(self.read)
    }

    /// Returns the position up to which every occurrence is delivered or abandoned.
    pub(super) fn watermark(&self) -> Cursor {
        let oldest = self.tries.oldest().map(Position::previous);
        self.cursor_at(oldest.unwrap_or(self.read))
    }

    /// Returns a position of the log of this subscription.
    pub(super) fn cursor_at(&self, position: Position) -> Cursor {
        Cursor {
            epoch: self.epoch.clone(),
            position,
        }
    }

    /// Returns the number of occurrences that wait to be delivered.
    pub(super) fn len(&self) -> usize {
        self.tries.len()
    }

    /// Whether every occurrence that was read is delivered or abandoned.
    pub(super) fn is_level(&self) -> bool {
        self.tries.is_empty()
    }

    /// Whether the endpoint is down: one message at a time is tried.
    pub(super) fn is_throttled(&self) -> bool {
        self.health.is_down()
    }

    pub(super) fn failing_since(&self) -> Option<Millis> {
        self.health.failing_since()
    }

    pub(super) fn last_failure(&self) -> Option<Failure> {
        self.health.last_failure()
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

    /// Returns whether the client has to learn that occurrences were not delivered. Every response
    /// within a minute reports it, because one may be lost.
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
            self.tries.room_while_down()
        } else {
            self.tries.room(now)
        }
    }

    /// Adds an occurrence after all others.
    pub(super) fn add(&mut self, position: Position, now: Millis) {
        self.read = position;
        self.are_tries_dirty = true;
        self.tries.add(position, now);
    }

    /// Passes everything up to a position that was not added.
    pub(super) fn advance(&mut self, through: Position) {
        self.read = self.read.max(through);
    }

    /// Skips everything up to a position, which the client has by other means.
    pub(super) fn skip(&mut self, through: Position) {
        self.advance(through);
        self.are_tries_dirty = true;
        self.tries.remove_through(through);
    }

    /// Takes notice of a page that was read after a position: what it lacks is gone.
    pub(super) fn meet(&mut self, after: &Cursor, page: &Page, now: Millis) {
        if *self.epoch != *page.epoch {
            return self.begin(page.cursor_at(page.from), now);
        }
        if *after.epoch != *page.epoch {
            return;
        }
        if page.trimmed {
            self.lose(after.position, page.from, now);
        }
        let next = after.position.next();
        if page.through < next && self.tries.remove_waiting(after.position, next) {
            self.note_gap(after.position, now);
        }
    }

    /// Returns the occurrence to send now. While the endpoint is down, this alternates between the
    /// oldest and a newer occurrence, so that one that is never accepted does not hold up the
    /// others.
    pub(super) fn due(&self, now: Millis) -> Option<Position> {
        if !self.is_throttled() {
            return self.tries.due(now);
        }
        let is_due = self.tries.flights() == 0 && self.health.probe_at() <= now;
        let probe = self.tries.oldest_or_other(self.health.is_other_next());
        probe.filter(|_| is_due)
    }

    /// Handles that an occurrence is being sent.
    pub(super) fn start(&mut self, position: Position, now: Millis) {
        self.tries.start(position, now);
    }

    /// Handles that the endpoint has an occurrence.
    pub(super) fn succeed(&mut self, position: Position, now: Millis) {
        self.settle(position);
        if self.is_throttled() {
            self.tries.forgive(now);
        }
        self.is_dirty |= self.last_failure().is_some();
        self.health.succeed();
    }

    /// Handles that an occurrence needs no delivery.
    pub(super) fn settle(&mut self, position: Position) {
        self.are_tries_dirty = true;
        self.tries.remove(position);
    }

    /// Handles that the endpoint does not want an occurrence.
    pub(super) fn decline(&mut self, position: Position, failure: Failure) {
        self.settle(position);
        self.is_dirty = true;
        self.health.decline(failure);
    }

    /// Handles that an occurrence could not be delivered. What fails while the endpoint is down
    /// does not count.
    pub(super) fn fail(&mut self, position: Position, failed: Failed, now: Millis, random: f64) {
        let was_throttled = self.is_throttled();
        let Failed {
            failure,
            retry_after,
            is_excused,
        } = failed;
        self.is_dirty = true;
        self.tries.stop(position);
        let waiting = self.tries.len();
        self.health
            .fail((failure, is_excused), waiting, now, random);
        let is_down = self.is_throttled();
        let is_over =
            !was_throttled && self.tries.fail(position, is_down, retry_after, now, random);
        if is_over {
            self.settle(position);
            self.note_gap(position.previous(), now);
        }
    }

    /// Has a message tried now although the endpoint is down.
    pub(super) fn hurry(&mut self) {
        self.health.hurry();
    }

    /// Returns the message that occurrences were not delivered if it is to be sent now: not before
    /// the endpoint accepts messages.
    pub(super) fn due_gap(&self, now: Millis) -> Option<&Gap> {
        let gap = self.gap.as_ref().filter(|_| self.health.is_good())?;
        gap.due().filter(|due| *due <= now).map(|_| gap)
    }

    /// Handles that this message is being sent.
    pub(super) fn start_gap(&mut self) {
        if let Some(gap) = &mut self.gap {
            gap.start();
        }
    }

    /// Handles that the endpoint has received, or does not want, the message about the gap of this
    /// time.
    pub(super) fn settle_gap(&mut self, at: Millis) {
        self.is_dirty = true;
        self.gap.take_if(|gap| gap.at() == at);
    }

    /// Handles that this message could not be delivered.
    pub(super) fn fail_gap(&mut self, at: Millis, now: Millis, random: f64) {
        self.is_dirty = true;
        self.gap
            .take_if(|gap| gap.at() == at && !gap.fail(now, random));
    }

    /// Returns when something is due that is not being sent.
    pub(super) fn timeout(&self) -> Option<Millis> {
        let gap = self.gap.as_ref().filter(|_| self.health.is_good());
        let gap = gap.and_then(Gap::due);
        let tries = if self.is_throttled() {
            let waits = !self.tries.is_empty() && self.tries.flights() == 0;
            waits.then(|| self.health.probe_at())
        } else {
            self.tries.timeout()
        };
        gap.into_iter().chain(tries).min()
    }

    /// Begins in another log.
    fn begin(&mut self, cursor: Cursor, now: Millis) {
        let position = cursor.position;
        self.tries.clear();
        self.epoch = cursor.epoch;
        self.read = position;
        self.note_gap(position, now);
    }

    /// Handles that the log no longer has what was between two positions.
    fn lose(&mut self, after: Position, through: Position, now: Millis) {
        let is_behind = self.read == after && after < through;
        if is_behind {
            self.read = through;
        }
        if self.tries.remove_waiting(after, through) || is_behind {
            self.are_tries_dirty = true;
            self.note_gap(through, now);
        }
    }

    /// Notes that something after `position` is not delivered.
    fn note_gap(&mut self, position: Position, now: Millis) {
        self.is_truncated = true;
        self.truncated_told_at = None;
        self.is_dirty = true;
        let cursor = self.cursor_at(position);
        self.gap = Some(Gap::new(cursor, self.gap.take(), now));
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Milliseconds for which responses say that occurrences were not delivered.
const TELLING: Millis = Millis(60_000);
