//! Which subscription does its next step, and when the host has to wake the deliverer.

use alloc::{boxed::Box, vec::Vec};

use crate::{clock::Millis, events::name::EventName};

use super::{
    super::{
        schedule::{AUTHORIZE_RETRY, FIRST_MESSAGE_DELAY},
        store::WebhookStore,
    },
    Deliverer, DelivererOutput,
    in_flight::Capacity,
    step::StepResult,
    subscriptions::{SubscribedType, SubscriptionEntry},
};

impl<S: WebhookStore> Deliverer<S> {
    /// Does what is due: has each queued subscription do its steps, stores what has changed, and
    /// sets the alarm before anything is sent.
    pub(super) fn advance(&mut self, now: Millis) -> Result<(), S::Error> {
        self.queue_due(now);
        self.send_challenges(now);
        while let Some(id) = self.queue.pop_front() {
            match self.step(&id, now)? {
                StepResult::More => self.queue.push_back(id),
                StepResult::Postponed | StepResult::Blocked(Capacity::ShareFull) => {
                    self.postponed.push_back(id);
                }
                StepResult::Blocked(_) => {
                    self.queue.push_front(id);
                    break;
                }
                StepResult::Done => self.finish(&id, now),
            }
        }
        self.postponed.append(&mut self.queue);
        core::mem::swap(&mut self.queue, &mut self.postponed);
        if self.is_idle() || self.in_flight.is_invocation_over(now) {
            self.subscriptions.flush()?;
        }
        self.set_alarm(now);
        self.outputs.extend(self.posts.drain(..));
        Ok(())
    }

    /// Handles that a subscription has nothing more to do now. Notes when it has next: while much
    /// is under way, the next scan may come later.
    fn finish(&mut self, id: &str, now: Millis) {
        if let Some(entry) = self.subscriptions.get_mut(id) {
            entry.is_queued = false;
        }
        if let Some(entry) = self.subscriptions.get(id) {
            let event_type = self.subscriptions.event_type(&entry.row.name);
            let due = due_at(entry, event_type, now).filter(|at| *at > now);
            self.next_due = self.next_due.into_iter().chain(due).min();
        }
    }

    pub(super) fn queue(&mut self, id: &str) {
        if let Some(entry) = self.subscriptions.get_mut(id)
            && !core::mem::replace(&mut entry.is_queued, true)
        {
            self.queue.push_back(id.into());
        }
    }

    /// Queues the subscriptions to an event type.
    pub(super) fn queue_type(&mut self, name: &EventName) {
        for id in self.subscriptions.ids(name) {
            self.queue(&id);
        }
    }

    pub(super) fn queue_all(&mut self) {
        self.queue_if(|_, _| true);
    }

    fn queue_due(&mut self, now: Millis) {
        let is_due = self.next_due.is_some_and(|at| at <= now);
        // Since the last scan other times may have come and passed.
        let is_unknown = self.is_scan_outdated && self.may_scan(now);
        if is_due || is_unknown {
            self.is_scan_outdated = false;
            self.queue_if(|entry, event_type| {
                due_at(entry, event_type, now).is_some_and(|at| at <= now)
            });
        }
        if is_due {
            // A time that has passed would set the alarm again at once.
            self.next_due = self.scan(now, false);
        }
    }

    fn queue_if(&mut self, is_due: impl Fn(&SubscriptionEntry, Option<&SubscribedType>) -> bool) {
        let entries = self.subscriptions.iter();
        let idle = entries.filter(|(_, entry)| !entry.is_queued);
        let due =
            idle.filter(|(_, entry)| is_due(entry, self.subscriptions.event_type(&entry.row.name)));
        let ids: Vec<Box<str>> = due.map(|(id, _)| id.into()).collect();
        for id in ids {
            self.queue(&id);
        }
    }

    fn set_alarm(&mut self, now: Millis) {
        let is_busy = self.is_busy();
        if self.may_scan(now) {
            self.scanned_at = now;
            let is_outdated = core::mem::take(&mut self.is_scan_outdated);
            self.next_due = self.scan(now, is_outdated);
        } else {
            self.is_scan_outdated = true;
        }
        // What is due and not done waits for a response, or for the next invocation.
        let has_waiting = !self.queue.is_empty() || self.calls.has_unsent();
        let is_paused = has_waiting && self.in_flight.is_invocation_over(now);
        let due = self.next_due.into_iter().chain(is_paused.then_some(now));
        if let Some(at) = self.alarm.set(due.min(), is_busy, now) {
            self.outputs.push_back(DelivererOutput::SetAlarm(at));
        }
    }

    fn is_busy(&self) -> bool {
        !self.in_flight.is_empty() || !self.pages.is_idle()
    }

    /// Whether to scan all subscriptions. While much is under way, doing it each time would be most
    /// of the work.
    fn may_scan(&self, now: Millis) -> bool {
        !self.is_busy() || self.scanned_at + SCAN_INTERVAL <= now
    }

    /// Returns when a subscription has something to do that has nothing to do now. With
    /// `includes_now` those that have something to do now count too: they have not been queued.
    fn scan(&self, now: Millis, includes_now: bool) -> Option<Millis> {
        let entries = self.subscriptions.iter();
        let times = entries.filter_map(|(_, entry)| {
            due_at(entry, self.subscriptions.event_type(&entry.row.name), now)
        });
        times.filter(|at| includes_now || *at > now).min()
    }
}

/// Returns when a subscription has something to do.
fn due_at(
    entry: &SubscriptionEntry,
    event_type: Option<&SubscribedType>,
    now: Millis,
) -> Option<Millis> {
    let row = &entry.row;
    if let Some(ending) = &row.ending {
        return ending.timeout();
    }
    let messages = if row.needs_authorization(now) {
        Some(entry.asked_at.map_or(now, |at| at + AUTHORIZE_RETRY))
    } else {
        let progress = &row.progress;
        let has_more = event_type.is_some_and(|known| known.has_more(&progress.read()));
        let more = has_more.then_some(now).filter(|_| progress.room(now) > 0);
        let due = progress.timeout().into_iter().chain(more).min();
        let not_before = event_type.map_or(Millis(0), |known| known.reads.until());
        due.map(|due| {
            due.max(row.granted_at + FIRST_MESSAGE_DELAY)
                .max(not_before)
                .max(entry.matches.until())
                .max(entry.send_after)
        })
    };
    messages.into_iter().chain(row.timeout(now)).min()
}

/// While messages are being sent, subscriptions are scanned at most once in this time.
const SCAN_INTERVAL: Millis = Millis(100);
