//! The turns of subscriptions, and the alarm of the host.

use alloc::{boxed::Box, vec::Vec};

use crate::{clock::Millis, events::name::EventName};

use super::{
    super::store::WebhookStore, Deliverer, DelivererOutput, in_flight::Limit, step::StepResult,
};

impl<S: WebhookStore> Deliverer<S> {
    /// Does what is due: has each queued subscription do its steps, stores what has changed, and
    /// sets the alarm before anything is sent.
    pub(super) fn advance(&mut self, now: Millis) -> Result<(), S::Error> {
        let is_busy = self.is_busy();
        let due = self.schedule.due(&self.subscriptions, is_busy, now);
        self.queue_each(due);
        self.send_challenges(now);
        self.take_turns(now)?;
        if self.is_idle() || self.in_flight.is_invocation_over(now) {
            self.subscriptions.flush()?;
        }
        self.set_alarm(now);
        self.outputs.extend(self.posts.drain(..));
        Ok(())
    }

    fn take_turns(&mut self, now: Millis) -> Result<(), S::Error> {
        self.schedule.begin(self.in_flight.count_late(now));
        while let Some(turn) = self.schedule.take() {
            match self.step(&turn.id, now)? {
                StepResult::More => self.queue(&turn.id),
                StepResult::Blocked(limit) => {
                    let is_total = limit == Limit::Total;
                    if let Some(entry) = self.subscriptions.get_mut(&turn.id) {
                        entry.turn = Some(turn.number);
                    }
                    self.schedule.keep(turn, limit);
                    if is_total {
                        break;
                    }
                }
                StepResult::Done => {
                    if let Some(entry) = self.subscriptions.get(&turn.id) {
                        let event_type = self.subscriptions.event_type(&entry.row.name);
                        self.schedule.handle_done(entry, event_type, now);
                    }
                }
            }
        }
        self.schedule.end();
        Ok(())
    }

    /// Gives a subscription a turn in which it may send.
    pub(super) fn queue(&mut self, id: &str) {
        if let Some(entry) = self.subscriptions.get_mut(id) {
            match entry.turn {
                Some(number) => self.schedule.recall(number),
                None => entry.turn = Some(self.schedule.queue(id)),
            }
        }
    }

    /// Queues the subscriptions to an event type.
    pub(super) fn queue_type(&mut self, name: &EventName) {
        self.queue_each(self.subscriptions.ids(name));
    }

    /// Gives every subscription a turn.
    pub(super) fn queue_all(&mut self) {
        self.schedule.requeue(|limit| *limit != Limit::Total);
        self.queue_each(self.subscriptions.iter().map(|(id, _)| id.into()).collect());
    }

    fn queue_each(&mut self, ids: Vec<Box<str>>) {
        for id in ids {
            self.queue(&id);
        }
    }

    fn set_alarm(&mut self, now: Millis) {
        let is_busy = self.is_busy();
        let next_due = self.schedule.next_due(&self.subscriptions, is_busy, now);
        // What is due and not done waits for a response, or for the next invocation.
        let has_waiting = !self.schedule.is_empty() || self.calls.has_unsent();
        let is_paused = has_waiting && self.in_flight.is_invocation_over(now);
        let due = next_due.into_iter().chain(is_paused.then_some(now));
        if let Some(at) = self.alarm.set(due.min(), is_busy, now) {
            self.outputs.push_back(DelivererOutput::SetAlarm(at));
        }
    }

    fn is_busy(&self) -> bool {
        !self.in_flight.is_empty() || !self.pages.is_idle()
    }
}
