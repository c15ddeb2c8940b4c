//! The outcomes of messages and reads.

use crate::{
    clock::Millis,
    events::{error::EventError, page::Page},
    vocabulary::position::Cursor,
};

use super::{
    super::{
        outcome::{Outcome, Verdict},
        progress::Failed,
        schedule::{PATIENCE, spread},
        store::Store,
    },
    Deliverer,
    flights::What,
    pages::{Of, Read},
};

impl<S: Store> Deliverer<S> {
    /// Removes a message that was sent, and handles its outcome.
    pub(super) fn settle(
        &mut self,
        post: u32,
        outcome: &Outcome,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        let Some(flight) = self.flights.end(post) else {
            return Ok(());
        };
        let id = flight.subscription;
        match flight.what {
            What::Event(cursor) => self.settle_event(&id, &cursor, outcome, now, random)?,
            What::Gap(at) => self.settle_gap(&id, at, outcome, now, random),
            What::Terminated => self.settle_end(&id, outcome, now, random)?,
            What::Verification(call) => self.verified(call, outcome, now)?,
        }
        self.queue(&id);
        Ok(())
    }

    fn settle_event(
        &mut self,
        id: &str,
        cursor: &Cursor,
        outcome: &Outcome,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        let Some(member) = self.roster.get_mut(id) else {
            return Ok(());
        };
        let row = &mut member.row;
        if *row.progress.epoch() != *cursor.epoch {
            return Ok(());
        }
        match outcome.verdict() {
            Verdict::Accepted => row.progress.succeed(cursor.position, now),
            Verdict::Declined(failure) => row.progress.decline(cursor.position, failure),
            Verdict::Failed {
                failure,
                status,
                retry_after,
            } => {
                let failed = Failed {
                    failure,
                    retry_after,
                    is_excused: row.excuses(status, now),
                };
                row.progress.fail(cursor.position, failed, now, random);
            }
        }
        let failing = row.progress.failing_since().filter(|_| row.until.is_none());
        match (failing, row.progress.last_failure()) {
            (Some(since), Some(failure)) if since + PATIENCE <= now => {
                let error = EventError::CallbackEndpoint(failure.name().into());
                self.end(id, &error, now)
            }
            _ => Ok(()),
        }
    }

    fn settle_gap(&mut self, id: &str, at: Millis, outcome: &Outcome, now: Millis, random: f64) {
        if let Some(member) = self.roster.get_mut(id) {
            let progress = &mut member.row.progress;
            match outcome.verdict() {
                Verdict::Failed { .. } => progress.fail_gap(at, now, random),
                _ => progress.settle_gap(at),
            }
        }
    }

    fn settle_end(
        &mut self,
        id: &str,
        outcome: &Outcome,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        let member = self.roster.get_mut(id);
        let Some(ending) = member.and_then(|member| member.row.ending.as_mut()) else {
            return Ok(());
        };
        let is_sent_again = match outcome.verdict() {
            Verdict::Failed { retry_after, .. } => ending.fail(retry_after, now, random),
            _ => false,
        };
        if is_sent_again {
            self.roster.put(id)
        } else {
            self.remove(id)
        }
    }

    /// Takes a page for the subscriptions to its name.
    pub(super) fn take_page(&mut self, read: Read, page: Page, now: Millis) {
        let Read { name, after, .. } = read;
        let end = page.cursor_at(page.head);
        for id in self.roster.ids(&name) {
            if let Some(member) = self.roster.get_mut(&id) {
                member.row.progress.meet(&after, &page, now);
            }
        }
        if let Some(named) = self.roster.named_mut(&name) {
            named.note_head(end);
            named.is_unread = false;
            named.failures = 0;
        }
        self.pages
            .keep(name.clone(), page, self.roster.readers(&name));
        self.queue_name(&name);
    }

    pub(super) fn fail_read(&mut self, read: u32, now: Millis, random: f64) {
        let Some(read) = self.pages.end(read) else {
            return;
        };
        if let Of::Call(call) = read.of {
            if self.calls.take(call).is_some() {
                self.answer(call, Err(EventError::Internal("bus".into())));
            }
            return;
        }
        if let Some(named) = self.roster.named_mut(&read.name) {
            let wait = SHORTEST.0 << named.failures.min(MAX_DOUBLINGS);
            named.failures = named.failures.saturating_add(1);
            named.not_before = now + spread(Millis(wait), random);
        }
    }
}

/// The wait before the log is read again, if reading it failed: doubled up to a minute.
const SHORTEST: Millis = Millis(1_000);
const MAX_DOUBLINGS: u32 = 6;
