//! The course of a call that makes or renews a subscription.

use alloc::string::String;

use crate::{
    clock::Millis,
    events::{
        cursor,
        error::EventError,
        name::EventName,
        page::{LogQuery, Page},
    },
    vocabulary::{
        position::{Cursor, Position},
        scope::Name,
    },
};

use super::{
    super::{
        super::{
            WebhookSubscription,
            store::WebhookStore,
            subscribe::{DeliveryStatus, SubscribeRequest, SubscribeResult},
        },
        Deliverer, DelivererOutput,
        pages::Purpose,
    },
    SubscribeCall,
    consent::Consent,
    exhausted,
};

impl<S: WebhookStore> Deliverer<S> {
    /// Handles a call that makes or renews a subscription. A [`DelivererOutput::Respond`] follows,
    /// perhaps after an endpoint was asked for its consent.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of new")]
    pub fn handle_subscribe(
        &mut self,
        call: u32,
        subscribe: SubscribeRequest,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.begin_invocation(now);
        let checked = self
            .calls
            .check_access(&subscribe)
            .and_then(|()| self.check_quota(&subscribe, now))
            .and_then(|()| self.consent(&subscribe, now));
        match checked {
            Err(error) => self.respond(call, Err(error)),
            Ok(consent) => {
                let is_unknown = matches!(consent, Consent::Unknown);
                let waiting = SubscribeCall {
                    subscribe,
                    began: now,
                    verified_until: consent.until(),
                };
                if is_unknown {
                    self.calls.insert_unsent(call, waiting);
                } else {
                    self.create_or_renew(call, waiting, now)?;
                }
            }
        }
        self.advance(now)
    }

    /// Checks that a subscription may be added. A renewal is never refused.
    fn check_quota(&self, subscribe: &SubscribeRequest, now: Millis) -> Result<(), EventError> {
        if self.live(&subscribe.id, now).is_some() {
            return Ok(());
        }
        let principal = &subscribe.principal;
        let rows = || self.subscriptions.iter().map(|(_, entry)| &entry.row);
        let live = || rows().filter(|row| row.is_live(now));
        let own = live().filter(|row| row.principal == *principal).count();
        let (held, waiting) = (live().count(), self.calls.len());
        // The host does not count for a subscription that is live, which may have expired since.
        let total = subscribe.total.max(held);
        for (count, max) in [
            (
                own + self.calls.count(principal),
                self.options.max_per_principal,
            ),
            (held + waiting, self.options.max_held),
            (total + waiting, self.options.max_total),
        ] {
            if count >= max {
                return Err(exhausted("subscriptions", max));
            }
        }
        Ok(())
    }

    /// Renews a subscription, or first reads the log: to find out where a new one begins, or
    /// whether it goes up to the cursor of a renewal.
    pub(super) fn create_or_renew(
        &mut self,
        call: u32,
        waiting: SubscribeCall,
        now: Millis,
    ) -> Result<(), S::Error> {
        let subscribe = &waiting.subscribe;
        let live = self.live(&subscribe.id, now);
        if live.is_some_and(|row| !self.is_beyond_log(row, subscribe)) {
            return self.renew(call, &waiting, now);
        }
        let nowhere = Cursor {
            epoch: "".into(),
            position: Position(0),
        };
        let purpose = Purpose::Call(call);
        let read = self.pages.begin(&subscribe.name, &nowhere, purpose, now);
        let query = LogQuery {
            name: subscribe.name.clone(),
            cursor: subscribe.cursor.clone(),
            max_age_ms: subscribe.max_age_ms,
            groups: subscribe.groups.clone(),
            max_events: 1,
            max_bytes: 1,
            max_scan: 1,
        };
        self.outputs
            .push_back(DelivererOutput::Read { read, query });
        self.calls.insert(call, waiting);
        Ok(())
    }

    /// Whether the cursor of a renewal is after what the subscription has, and after the end of the
    /// log as far as it is known.
    fn is_beyond_log(&self, row: &WebhookSubscription, subscribe: &SubscribeRequest) -> bool {
        let read = row.progress.read();
        cursor_in(subscribe, &read.epoch).is_some_and(|position| {
            position > read.position && position > self.end_of(&subscribe.name, &read)
        })
    }

    /// Returns the end of the log as far as it is known, at least what a subscription has read.
    fn end_of(&self, name: &EventName, read: &Cursor) -> Position {
        let head = self.subscriptions.event_type(name);
        let head = head.and_then(|event_type| event_type.head.as_ref());
        let head = head.filter(|head| head.epoch == read.epoch);
        head.map_or(read.position, |head| head.position)
    }

    /// Makes or renews a subscription after the log was read.
    pub(in super::super) fn log_read(
        &mut self,
        call: u32,
        page: &Page,
        now: Millis,
    ) -> Result<(), S::Error> {
        let Some(waiting) = self.calls.take(call) else {
            return Ok(());
        };
        let subscribe = &waiting.subscribe;
        if let Some(event_type) = self.subscriptions.event_type_mut(&subscribe.name) {
            event_type.note_head(page.cursor_at(page.head));
        }
        if self.live(&subscribe.id, now).is_some() {
            return self.renew(call, &waiting, now);
        }
        self.create(call, &waiting, page, now)
    }

    /// Handles that the log could not be read: a renewal then skips nothing after its known end.
    pub(in super::super) fn log_unread(&mut self, call: u32, now: Millis) -> Result<(), S::Error> {
        let Some(waiting) = self.calls.take(call) else {
            return Ok(());
        };
        if self.live(&waiting.subscribe.id, now).is_some() {
            return self.renew(call, &waiting, now);
        }
        self.respond(call, Err(EventError::Internal("bus".into())));
        Ok(())
    }

    /// Makes a subscription that begins with a page.
    fn create(
        &mut self,
        call: u32,
        waiting: &SubscribeCall,
        page: &Page,
        now: Millis,
    ) -> Result<(), S::Error> {
        let subscribe = &waiting.subscribe;
        self.remove(&subscribe.id)?;
        let row = WebhookSubscription::new(subscribe, page.cursor_at(page.from));
        let expected = self.match_rules.expected(&row.name, &row.arguments);
        let is_slow = self.subscriptions.is_slow(&subscribe.host);
        if self.subscriptions.add(&subscribe.id, row, expected) {
            let follow = DelivererOutput::Follow(subscribe.name.clone());
            self.outputs.push_back(follow);
        }
        self.subscriptions.set_slow(&subscribe.host, is_slow);
        if let Some(event_type) = self.subscriptions.event_type_mut(&subscribe.name) {
            event_type.note_head(page.cursor_at(page.head));
        }
        self.apply(waiting, now)?;
        let result = self.result(&subscribe.id, page.is_truncated(), false);
        self.respond(call, Ok(result));
        Ok(())
    }

    fn renew(&mut self, call: u32, waiting: &SubscribeCall, now: Millis) -> Result<(), S::Error> {
        let subscribe = &waiting.subscribe;
        let read = self.subscriptions.get(&subscribe.id);
        let skipped = read
            .map(|entry| entry.row.progress.read())
            .and_then(|read| {
                let position = cursor_in(subscribe, &read.epoch)?;
                Some(position.min(self.end_of(&subscribe.name, &read)))
            });
        let mut is_truncated = false;
        if let Some(entry) = self.subscriptions.get_mut(&subscribe.id) {
            let progress = &mut entry.row.progress;
            if let Some(position) = skipped {
                progress.skip(position);
            }
            is_truncated = progress.report_truncation(now);
        }
        self.apply(waiting, now)?;
        let result = self.result(&subscribe.id, is_truncated, true);
        self.respond(call, Ok(result));
        Ok(())
    }

    /// Applies a call to its subscription, and stores that.
    fn apply(&mut self, waiting: &SubscribeCall, now: Millis) -> Result<(), S::Error> {
        let subscribe = &waiting.subscribe;
        let until = self.options.ttl.until(subscribe.ttl, now);
        let authorize_at = self.options.authorize_at(now);
        let former = self.subscriptions.groups(&subscribe.name);
        if let Some(entry) = self.subscriptions.get_mut(&subscribe.id) {
            entry.row.apply(subscribe, waiting.began, until, now);
            entry.row.verified_until = waiting.verified_until;
            entry.row.authorize_at = authorize_at;
            entry.authorization_asked_at = None;
            entry.send_after = Millis(0);
        }
        self.forget_selections(&subscribe.id, &subscribe.name, &former);
        self.subscriptions.put(&subscribe.id)?;
        // The end of its step notes when its first message is due.
        self.queue(&subscribe.id);
        Ok(())
    }

    /// Forgets what a subscription receives of the pages in memory, and these pages if they were
    /// read for other groups.
    pub(in super::super) fn forget_selections(
        &mut self,
        id: &str,
        name: &EventName,
        former: &[Name],
    ) {
        self.pages.forget_reader(id);
        if *former != self.subscriptions.groups(name) {
            self.pages.forget_name(name);
            self.queue_type(name);
        }
    }

    fn result(&self, id: &str, is_truncated: bool, is_renewed: bool) -> String {
        let Some(entry) = self.subscriptions.get(id) else {
            return String::from("{}");
        };
        let progress = &entry.row.progress;
        let result = SubscribeResult {
            id,
            until: entry.row.until,
            watermark: progress.watermark(),
            is_truncated,
            status: is_renewed.then(|| DeliveryStatus {
                is_throttled: progress.is_throttled(),
                failing_since: progress.failing_since(),
                last_failure: progress.last_failure(),
            }),
        };
        result.to_json()
    }
}

/// Returns the position of the cursor of a call, if it is one of this log.
fn cursor_in(subscribe: &SubscribeRequest, epoch: &str) -> Option<Position> {
    let cursor = cursor::from_text(subscribe.cursor.as_deref()?)?;
    (*cursor.epoch == *epoch).then_some(cursor.position)
}
