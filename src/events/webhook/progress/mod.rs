//! The progress of the delivery of one subscription.

mod gap;
mod health;
mod pending;

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
use pending::PendingOccurrences;

/// The progress of the delivery of a subscription.
///
/// Every occurrence up to `read` is delivered, abandoned, or `pending`: so the watermark is right
/// before the oldest of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Progress {
    epoch: Box<str>,
    read: Position,
    #[serde(
        rename = "tries",
        default,
        skip_serializing_if = "PendingOccurrences::is_empty"
    )]
    pending: PendingOccurrences,
    #[serde(default, skip_serializing_if = "Health::is_default")]
    health: Health,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gap: Option<Gap>,
    /// Whether the client has to learn that occurrences were not delivered.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    is_truncated: bool,
    /// When a response first reported it. Rows of earlier builds have another name for it.
    #[serde(
        alias = "truncatedToldAt",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    truncation_reported_at: Option<Millis>,
    /// Whether more than positions has changed since it was stored.
    #[serde(skip)]
    is_dirty: bool,
    /// Whether `pending` has changed since it was stored.
    #[serde(skip)]
    is_pending_dirty: bool,
}

/// A failed attempt to send an occurrence.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedAttempt {
    pub(super) failure: Failure,
    pub(super) retry_after: Option<Millis>,
    /// Whether it does not count against the endpoint.
    pub(super) is_excused: bool,
}

impl Progress {
    pub(super) fn new(cursor: Cursor) -> Self {
        Self {
            epoch: cursor.epoch,
            read: cursor.position,
            pending: PendingOccurrences::default(),
            health: Health::default(),
            gap: None,
            is_truncated: false,
            truncation_reported_at: None,
            is_dirty: false,
            is_pending_dirty: false,
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
        let oldest = self.pending.oldest().map(Position::previous);
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
        self.pending.len()
    }

    /// Whether every occurrence that was read is delivered or abandoned.
    pub(super) fn is_caught_up(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether the endpoint is down: one message at a time is sent as a probe.
    pub(super) fn is_throttled(&self) -> bool {
        self.health.is_down()
    }

    pub(super) fn failing_since(&self) -> Option<Millis> {
        self.health.failing_since()
    }

    pub(super) fn last_failure(&self) -> Option<Failure> {
        self.health.last_failure()
    }

    /// Whether the endpoint did not respond in time to the last occurrence.
    pub(super) fn has_timed_out(&self) -> bool {
        matches!(self.last_failure(), Some(Failure::Timeout))
    }

    /// Whether it has to be stored, unless only positions have changed.
    pub(super) fn is_dirty(&self) -> bool {
        self.is_dirty || (self.is_pending_dirty && !self.is_caught_up())
    }

    /// Handles that it was stored.
    pub(super) fn stored(&mut self) {
        self.is_dirty = false;
        self.is_pending_dirty = false;
    }

    /// Returns whether the client has to learn that occurrences were not delivered. Every response
    /// within a minute reports it, because one may be lost.
    pub(super) fn report_truncation(&mut self, now: Millis) -> bool {
        let reported_at = self
            .truncation_reported_at
            .filter(|at| *at + TRUNCATION_REPORT <= now);
        self.is_dirty |= self.is_truncated;
        if self.is_truncated {
            self.truncation_reported_at.get_or_insert(now);
        }
        self.is_truncated &= reported_at.is_none();
        self.is_truncated
    }

    /// Returns how many occurrences may be added.
    pub(super) fn room(&self, now: Millis) -> usize {
        if self.is_throttled() {
            self.pending.room_while_down()
        } else {
            self.pending.room(now)
        }
    }

    /// Adds an occurrence after all others.
    pub(super) fn add(&mut self, position: Position, now: Millis) {
        self.read = position;
        self.is_pending_dirty = true;
        self.pending.add(position, now);
    }

    /// Passes everything up to a position that was not added.
    pub(super) fn advance(&mut self, through: Position) {
        self.read = self.read.max(through);
    }

    /// Skips everything up to a position, which the client has received by other means.
    pub(super) fn skip(&mut self, through: Position) {
        self.advance(through);
        self.is_pending_dirty = true;
        self.pending.remove_through(through);
    }

    /// Handles a page that was read after a position: occurrences that it lacks are gone.
    pub(super) fn handle_page(&mut self, after: &Cursor, page: &Page, now: Millis) {
        // Only a page that was read from a place in another log begins where its log does.
        let is_from_other_log = *after.epoch != *page.epoch;
        if *self.epoch != *page.epoch && is_from_other_log {
            self.restart(page.cursor_at(page.from), now);
        }
        if is_from_other_log || *self.epoch != *page.epoch {
            return;
        }
        if page.trimmed {
            self.skip_trimmed(after.position, page.from, now);
        }
        let next = after.position.next();
        if page.through < next && self.pending.remove_waiting(after.position, next) {
            self.note_gap(after.position, now);
        }
    }

    /// Returns the occurrence to send now. While the endpoint is down, this alternates between the
    /// oldest and another occurrence, so that one that is never accepted does not block the
    /// others.
    pub(super) fn due(&self, now: Millis) -> Option<Position> {
        if !self.is_throttled() {
            return self.pending.due(now);
        }
        let is_due = self.pending.in_flight() == 0 && self.health.probe_at() <= now;
        let probe = self
            .pending
            .oldest_or_other(self.health.probes_other_next());
        probe.filter(|_| is_due)
    }

    /// Handles that an occurrence is being sent.
    pub(super) fn start(&mut self, position: Position, now: Millis) {
        self.pending.start(position, now);
    }

    /// Handles that the endpoint has an occurrence.
    pub(super) fn succeed(&mut self, position: Position, now: Millis) {
        self.settle(position);
        if self.is_throttled() {
            self.pending.forgive(now);
        }
        self.is_dirty |= !self.health.is_default();
        self.health.succeed();
    }

    /// Handles that an occurrence needs no delivery.
    pub(super) fn settle(&mut self, position: Position) {
        self.is_pending_dirty = true;
        self.pending.remove(position);
    }

    /// Handles that the endpoint has rejected an occurrence.
    pub(super) fn reject(&mut self, position: Position, failure: Failure) {
        self.settle(position);
        self.is_dirty = true;
        self.health.reject(failure);
    }

    /// Handles that an occurrence could not be delivered. Failures of probes do not count as
    /// attempts.
    pub(super) fn fail(
        &mut self,
        position: Position,
        failed: FailedAttempt,
        now: Millis,
        random: f64,
    ) {
        let was_throttled = self.is_throttled();
        let FailedAttempt {
            failure,
            retry_after,
            is_excused,
        } = failed;
        self.is_dirty = true;
        self.pending.stop(position);
        let waiting = self.pending.len();
        self.health
            .fail((failure, is_excused), waiting, now, random);
        let is_down = self.is_throttled();
        let is_over = !was_throttled
            && self
                .pending
                .fail(position, is_down, retry_after, now, random);
        if is_over {
            self.settle(position);
            self.note_gap(position.previous(), now);
        }
    }

    /// Handles that the host could not send an occurrence: it remains due.
    pub(super) fn keep_due(&mut self, position: Position) {
        self.pending.stop(position);
    }

    /// Makes the next probe due now, if the endpoint is down.
    pub(super) fn probe_now(&mut self) {
        self.health.probe_now();
    }

    /// Returns the message about a gap if it is due: not before the endpoint accepts messages.
    pub(super) fn due_gap(&self, now: Millis) -> Option<&Gap> {
        let gap = self.gap.as_ref().filter(|_| self.health.is_up())?;
        gap.due().filter(|due| *due <= now).map(|_| gap)
    }

    /// Handles that the message about the gap is being sent.
    pub(super) fn start_gap(&mut self) {
        if let Some(gap) = &mut self.gap {
            gap.start();
        }
    }

    /// Handles that the endpoint has accepted or rejected the message about the gap of this
    /// time.
    pub(super) fn settle_gap(&mut self, at: Millis) {
        self.is_dirty = true;
        self.gap.take_if(|gap| gap.at() == at);
    }

    /// Handles that the message about the gap of this time could not be delivered.
    pub(super) fn fail_gap(&mut self, at: Millis, now: Millis, random: f64) {
        self.is_dirty = true;
        self.gap
            .take_if(|gap| gap.at() == at && !gap.fail(now, random));
    }

    /// Handles that the host could not send the message about the gap of this time: it remains due.
    pub(super) fn keep_gap_due(&mut self, at: Millis) {
        if let Some(gap) = self.gap.as_mut().filter(|gap| gap.at() == at) {
            gap.stop();
        }
    }

    /// Returns when something is due that is not being sent.
    pub(super) fn timeout(&self) -> Option<Millis> {
        let gap = self.gap.as_ref().filter(|_| self.health.is_up());
        let gap = gap.and_then(Gap::due);
        let pending = if self.is_throttled() {
            let waits = !self.pending.is_empty() && self.pending.in_flight() == 0;
            waits.then(|| self.health.probe_at())
        } else {
            self.pending.timeout()
        };
        gap.into_iter().chain(pending).min()
    }

    /// Starts over in another log.
    fn restart(&mut self, cursor: Cursor, now: Millis) {
        let position = cursor.position;
        self.pending.clear();
        self.epoch = cursor.epoch;
        self.read = position;
        self.note_gap(position, now);
    }

    /// Handles that the log no longer has what was between two positions.
    fn skip_trimmed(&mut self, after: Position, through: Position, now: Millis) {
        let is_behind = self.read == after && after < through;
        if is_behind {
            self.read = through;
        }
        if self.pending.remove_waiting(after, through) || is_behind {
            self.is_pending_dirty = true;
            self.note_gap(through, now);
        }
    }

    /// Notes that something after `position` is not delivered.
    fn note_gap(&mut self, position: Position, now: Millis) {
        self.is_truncated = true;
        self.truncation_reported_at = None;
        self.is_dirty = true;
        let cursor = self.cursor_at(position);
        self.gap = Some(Gap::new(cursor, self.gap.take(), now));
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// How long responses say that occurrences were not delivered, after the first that did.
const TRUNCATION_REPORT: Millis = Millis(60_000);
