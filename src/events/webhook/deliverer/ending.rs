//! The end of subscriptions.

use alloc::{boxed::Box, vec::Vec};

use crate::{
    clock::Millis,
    events::{error::EventError, name::EventName},
};

use super::{
    super::{WebhookSubscription, store::WebhookStore},
    Deliverer, DelivererOutput,
    calls::SubscribeCall,
    disconnect::Disconnect,
};

/// What a subscriber has: a subscription, or a call that makes or renews one.
struct Held<'h> {
    principal: &'h str,
    name: &'h EventName,
    /// When the server received the request.
    asked_at: Millis,
    /// When the deliverer received the call, or that which made or last renewed the subscription.
    received_at: Millis,
}

impl<'h> Held<'h> {
    fn of_call(call: &'h SubscribeCall) -> Self {
        Self {
            principal: &call.subscribe.principal,
            name: &call.subscribe.name,
            asked_at: call.subscribe.asked_at,
            received_at: call.began,
        }
    }

    fn of_subscription(row: &'h WebhookSubscription) -> Self {
        Self {
            principal: &row.principal,
            name: &row.name,
            asked_at: row.asked_at,
            received_at: row.received_at(),
        }
    }
}

impl<S: WebhookStore> Deliverer<S> {
    /// Removes a subscription. Returns whether there was one.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of new")]
    pub fn handle_unsubscribe(&mut self, id: &str, now: Millis) -> Result<bool, S::Error> {
        let is_live = self.live(id, now).is_some();
        self.remove(id)?;
        self.advance(now)?;
        Ok(is_live)
    }

    /// Ends the subscriptions of a subscriber that was disconnected, and refuses the calls that
    /// the server received before. What was made or renewed later remains: the deliverer may learn
    /// of the disconnect late, or again after a restart.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of new")]
    pub fn handle_disconnected(
        &mut self,
        principal: &str,
        disconnect: Disconnect,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.calls.disconnect(principal, disconnect, now);
        let error = EventError::Forbidden { reason: None };
        let is_disconnected = |held: &Held<'_>| {
            *held.principal == *principal && disconnect.covers(held.asked_at, held.received_at)
        };
        self.end_all(&is_disconnected, &error, now)
    }

    /// Ends the subscriptions to an event type: it was removed, or its schema has changed.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of new")]
    pub fn handle_ended(
        &mut self,
        name: &EventName,
        error: &EventError,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.end_all(&|held| *held.name == *name, error, now)
    }

    /// Ends the subscriptions, and refuses the calls, for which `ends` returns true.
    fn end_all(
        &mut self,
        ends: &dyn Fn(&Held<'_>) -> bool,
        error: &EventError,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.begin_invocation(now);
        for call in self.calls.take_all(|call| ends(&Held::of_call(call))) {
            self.respond(call, Err(error.clone()));
        }
        let entries = self.subscriptions.iter();
        let ended = entries.filter(|(_, entry)| {
            entry.row.ending.is_none() && ends(&Held::of_subscription(&entry.row))
        });
        let ids: Vec<Box<str>> = ended.map(|(id, _)| id.into()).collect();
        for id in ids {
            self.end(&id, error, now)?;
        }
        self.advance(now)
    }

    /// Ends a subscription: its last message is sent next.
    pub(super) fn end(
        &mut self,
        id: &str,
        error: &EventError,
        now: Millis,
    ) -> Result<(), S::Error> {
        let Some(entry) = self.subscriptions.get_mut(id) else {
            return Ok(());
        };
        let name = entry.row.name.clone();
        entry.row.end(error.clone(), now);
        self.subscriptions.put(id)?;
        self.detach(id, &name)?;
        self.queue(id);
        Ok(())
    }

    /// Removes a subscription.
    pub(super) fn remove(&mut self, id: &str) -> Result<(), S::Error> {
        let Some(entry) = self.subscriptions.remove(id)? else {
            return Ok(());
        };
        if let Some(number) = entry.turn {
            self.schedule.forget(number);
        }
        self.detach(id, &entry.row.name)
    }

    fn detach(&mut self, id: &str, name: &EventName) -> Result<(), S::Error> {
        self.pages.forget_reader(id);
        if self.subscriptions.detach(id, name)? {
            self.pages.forget_name(name);
            // What was being read has made room for them.
            self.schedule.reopen();
            self.outputs
                .push_back(DelivererOutput::Unfollow(name.clone()));
        }
        Ok(())
    }
}
