//! The outcomes of messages and reads.

use crate::{
    clock::Millis,
    events::{error::EventError, page::Page},
    vocabulary::position::Cursor,
};

use super::{
    super::{
        outcome::{DeliveryResult, Failure, Outcome},
        progress::FailedAttempt,
        schedule::MAX_FAILING,
        store::WebhookStore,
    },
    Deliverer,
    in_flight::Content,
    pages::{Purpose, Read},
};

impl<S: WebhookStore> Deliverer<S> {
    /// Handles the outcome of a message that was sent.
    pub(super) fn handle_outcome(
        &mut self,
        post: u32,
        outcome: &Outcome,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        let Some(message) = self.in_flight.end(post) else {
            return Ok(());
        };
        if !matches!(outcome, Outcome::Unsent) {
            let has_timed_out = matches!(outcome, Outcome::Failure(Failure::Timeout));
            let is_slow = has_timed_out || message.is_late(now);
            if self.subscriptions.note_pace(&message, is_slow) {
                self.schedule.handle_pace();
            }
        }
        let id = message.subscription;
        match message.content {
            Content::Event(cursor) => self.event_sent(&id, &cursor, outcome, now, random)?,
            Content::Gap(at) => self.gap_sent(&id, at, outcome, now, random),
            Content::Terminated => self.terminated_sent(&id, outcome, now, random)?,
            Content::Verification(call) => self.verification_sent(call, outcome, now)?,
        }
        self.queue(&id);
        Ok(())
    }

    fn event_sent(
        &mut self,
        id: &str,
        cursor: &Cursor,
        outcome: &Outcome,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        let Some(entry) = self.subscriptions.get_mut(id) else {
            return Ok(());
        };
        let row = &mut entry.row;
        if *row.progress.epoch() != *cursor.epoch {
            return Ok(());
        }
        match outcome.delivery_result() {
            DeliveryResult::Delivered => row.progress.succeed(cursor.position, now),
            DeliveryResult::Rejected(failure) => row.progress.reject(cursor.position, failure),
            DeliveryResult::Failed {
                failure,
                status,
                retry_after,
            } => {
                let failed = FailedAttempt {
                    failure,
                    retry_after,
                    is_excused: row.excuses(status, now),
                };
                row.progress.fail(cursor.position, failed, now, random);
            }
            DeliveryResult::Unsent => {
                row.progress.keep_due(cursor.position);
                entry.handle_unsent(now, random);
                return Ok(());
            }
        }
        self.end_if_failing(id, now)
    }

    /// Ends a subscription without an expiry whose endpoint has failed for too long.
    fn end_if_failing(&mut self, id: &str, now: Millis) -> Result<(), S::Error> {
        let row = self.subscriptions.get(id).map(|entry| &entry.row);
        let Some(row) = row.filter(|row| row.until.is_none()) else {
            return Ok(());
        };
        match (row.progress.failing_since(), row.progress.last_failure()) {
            (Some(since), Some(failure)) if since + MAX_FAILING <= now => {
                let error = EventError::CallbackEndpoint(failure.name().into());
                self.end(id, &error, now)
            }
            _ => Ok(()),
        }
    }

    fn gap_sent(&mut self, id: &str, at: Millis, outcome: &Outcome, now: Millis, random: f64) {
        if let Some(entry) = self.subscriptions.get_mut(id) {
            let progress = &mut entry.row.progress;
            match outcome.delivery_result() {
                DeliveryResult::Delivered | DeliveryResult::Rejected(_) => progress.settle_gap(at),
                DeliveryResult::Failed { .. } => progress.fail_gap(at, now, random),
                DeliveryResult::Unsent => {
                    progress.keep_gap_due(at);
                    entry.handle_unsent(now, random);
                }
            }
        }
    }

    fn terminated_sent(
        &mut self,
        id: &str,
        outcome: &Outcome,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        let entry = self.subscriptions.get_mut(id);
        let Some(ending) = entry.and_then(|entry| entry.row.ending.as_mut()) else {
            return Ok(());
        };
        let is_sent_again = match outcome.delivery_result() {
            DeliveryResult::Delivered | DeliveryResult::Rejected(_) => false,
            DeliveryResult::Failed { retry_after, .. } => ending.fail(retry_after, now, random),
            // It counts as an attempt: the secret may stay unreadable.
            DeliveryResult::Unsent => ending.fail(None, now, random),
        };
        if is_sent_again {
            self.subscriptions.put(id)
        } else {
            self.remove(id)
        }
    }

    /// Handles a page that was read for all subscriptions to an event type.
    pub(super) fn page_read(&mut self, read: Read, page: Page, now: Millis) {
        let Read { name, after, .. } = read;
        let end = page.cursor_at(page.head);
        for id in self.subscriptions.ids(&name) {
            if let Some(entry) = self.subscriptions.get_mut(&id) {
                entry.row.progress.handle_page(&after, &page, now);
            }
        }
        if let Some(event_type) = self.subscriptions.event_type_mut(&name) {
            event_type.note_head(end);
            let was_unread = core::mem::take(&mut event_type.is_unread);
            let leads_on = page.epoch != after.epoch || page.through > after.position;
            if leads_on || was_unread || !event_type.has_more(&after) {
                event_type.reads.succeed();
            } else {
                // The log ends before its known end: it was restored from a copy.
                event_type.reads.fail(now, NO_JITTER);
            }
        }
        self.pages
            .keep(name.clone(), page, self.subscriptions.readers(&name));
        self.queue_type(&name);
    }

    pub(super) fn read_failed(
        &mut self,
        read: u32,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        let Some(read) = self.pages.end(read) else {
            return Ok(());
        };
        match read.purpose {
            Purpose::Call(call) => return self.log_unread(call, now),
            Purpose::Type => {
                if let Some(event_type) = self.subscriptions.event_type_mut(&read.name) {
                    event_type.reads.fail(now, random);
                }
                self.queue_type(&read.name);
            }
            Purpose::Match(id, _) => {
                if let Some(entry) = self.subscriptions.get_mut(&id) {
                    entry.matches.fail(now, random);
                }
                self.queue(&id);
            }
        }
        Ok(())
    }
}

/// The random number that neither lengthens nor shortens a wait.
const NO_JITTER: f64 = 0.5;
