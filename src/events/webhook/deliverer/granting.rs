//! Calls that make and renew subscriptions.

use alloc::string::String;

use crate::{
    clock::Millis,
    events::{
        cursor,
        error::EventError,
        page::{LogQuery, Page},
    },
    vocabulary::position::{Cursor, Position},
};

use super::{
    super::{
        Subscription,
        envelope::{self, is_echo},
        outcome::{Failure, Outcome},
        schedule::CONSENT,
        store::Store,
        subscribe::{DeliveryStatus, Granted, Subscribe},
    },
    Deliverer, MessageKind, Output, Post,
    calls::{Call, exhausted},
    flights::What,
    message_id,
    pages::Of,
};

/// Whether an endpoint wants the messages of a subscriber.
enum Consent {
    /// The origin is allowed by configuration.
    NotNeeded,
    /// The endpoint returned the challenge; valid until this time.
    Until(Millis),
    Unknown,
}

impl<S: Store> Deliverer<S> {
    /// Handles a call that makes or renews a subscription. An [`Output::Answer`] follows, perhaps
    /// after an endpoint was asked for its consent.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_subscribe(
        &mut self,
        call: u32,
        subscribe: Subscribe,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.begin_burst(now);
        let checked = self
            .check_quota(&subscribe, now)
            .and_then(|()| self.consent(&subscribe, now));
        match checked {
            Err(error) => self.answer(call, Err(error)),
            Ok(Consent::Unknown) => self.verify(call, subscribe, now),
            Ok(consent) => {
                let waiting = Call {
                    subscribe,
                    verified_until: consent.until(),
                };
                self.open(call, waiting, now)?;
            }
        }
        self.advance(now)
    }

    /// Checks that a subscription may be added.
    fn check_quota(&self, subscribe: &Subscribe, now: Millis) -> Result<(), EventError> {
        if self.live(&subscribe.id, now).is_some() {
            return Ok(());
        }
        let principal = &subscribe.principal;
        let rows = || self.roster.iter().map(|(_, member)| &member.row);
        let live = || rows().filter(|row| row.is_live(now));
        let own = live().filter(|row| row.principal == *principal).count();
        for (count, max) in [
            (
                own + self.calls.count(principal),
                self.options.max_per_principal,
            ),
            (live().count() + self.calls.len(), self.options.max_held),
            (subscribe.total, self.options.max_total),
        ] {
            if count >= max {
                return Err(exhausted("subscriptions", max));
            }
        }
        Ok(())
    }

    /// Returns whether an endpoint has consented; if that is unknown, it may be asked.
    fn consent(&mut self, subscribe: &Subscribe, now: Millis) -> Result<Consent, EventError> {
        if subscribe.is_allowed {
            return Ok(Consent::NotNeeded);
        }
        let rows = self.roster.iter().map(|(_, member)| &member.row);
        let vouching = rows.filter(|row| row.vouches(&subscribe.principal, &subscribe.url, now));
        match vouching.filter_map(|row| row.verified_until).max() {
            Some(until) => Ok(Consent::Until(until)),
            None => self
                .calls
                .challenge(subscribe, now)
                .map(|()| Consent::Unknown),
        }
    }

    /// Asks an endpoint for its consent.
    fn verify(&mut self, call: u32, subscribe: Subscribe, now: Millis) {
        let of = (&*subscribe.id, &*subscribe.host);
        let post = Post {
            post: self.flights.start(of, What::Verification(call), now),
            kind: MessageKind::Verification,
            subscription: subscribe.id.clone(),
            message: message_id(MessageKind::Verification, &subscribe.id, now),
            url: subscribe.url.clone(),
            body: envelope::verification(&subscribe.challenge),
            secrets: vec![subscribe.secret.clone()],
        };
        self.posts.push(Output::Post(post));
        let waiting = Call {
            subscribe,
            verified_until: None,
        };
        self.calls.insert(call, waiting);
    }

    /// Handles the response of an endpoint to a challenge.
    pub(super) fn verified(
        &mut self,
        call: u32,
        outcome: &Outcome,
        now: Millis,
    ) -> Result<(), S::Error> {
        let Some(mut waiting) = self.calls.take(call) else {
            return Ok(());
        };
        let challenge = &waiting.subscribe.challenge;
        let failure = match outcome {
            Outcome::Failure(failure) => *failure,
            Outcome::Response(_) => Failure::ChallengeFailed,
        };
        if !outcome.body().is_some_and(|body| is_echo(body, challenge)) {
            let error = EventError::CallbackEndpoint(failure.name().into());
            self.answer(call, Err(error));
            return Ok(());
        }
        waiting.verified_until = Some(now + CONSENT);
        self.open(call, waiting, now)
    }

    /// Renews a subscription, or finds out where a new one begins.
    fn open(&mut self, call: u32, waiting: Call, now: Millis) -> Result<(), S::Error> {
        let subscribe = &waiting.subscribe;
        if self.live(&subscribe.id, now).is_some() {
            return self.renew(call, &waiting, now);
        }
        let nowhere = Cursor {
            epoch: "".into(),
            position: Position(0),
        };
        let of = Of::Call(call);
        let read = self.pages.begin(&subscribe.name, &nowhere, of, now);
        let query = LogQuery {
            name: subscribe.name.clone(),
            cursor: subscribe.cursor.clone(),
            max_age_ms: subscribe.max_age_ms,
            groups: subscribe.groups.clone(),
            max_events: 1,
            max_bytes: 1,
            max_scan: 1,
        };
        self.outputs.push_back(Output::Read { read, query });
        self.calls.insert(call, waiting);
        Ok(())
    }

    /// Makes a subscription that begins with a page.
    pub(super) fn opened(&mut self, call: u32, page: &Page, now: Millis) -> Result<(), S::Error> {
        let Some(waiting) = self.calls.take(call) else {
            return Ok(());
        };
        let subscribe = &waiting.subscribe;
        if self.live(&subscribe.id, now).is_some() {
            return self.renew(call, &waiting, now);
        }
        self.remove(&subscribe.id)?;
        let row = Subscription::new(subscribe, page.cursor_at(page.from));
        let expected = self.match_rules.expected(&row.name, &row.arguments);
        if self.roster.add(&subscribe.id, row, expected) {
            let follow = Output::Follow(subscribe.name.clone());
            self.outputs.push_back(follow);
        }
        if let Some(named) = self.roster.named_mut(&subscribe.name) {
            named.note_head(page.cursor_at(page.head));
        }
        self.grant(&waiting, now)?;
        let granted = self.granted(&subscribe.id, page.is_truncated(), false);
        self.answer(call, Ok(granted));
        Ok(())
    }

    fn renew(&mut self, call: u32, waiting: &Call, now: Millis) -> Result<(), S::Error> {
        let subscribe = &waiting.subscribe;
        let cursor = subscribe.cursor.as_deref();
        let cursor = cursor.and_then(cursor::from_text);
        let mut is_truncated = false;
        if let Some(member) = self.roster.get_mut(&subscribe.id) {
            let progress = &mut member.row.progress;
            if let Some(cursor) = cursor.filter(|cursor| *cursor.epoch == *progress.epoch()) {
                progress.skip(cursor.position);
            }
            is_truncated = progress.tell_truncated(now);
        }
        self.grant(waiting, now)?;
        let granted = self.granted(&subscribe.id, is_truncated, true);
        self.answer(call, Ok(granted));
        Ok(())
    }

    /// Applies the terms of a call, and stores the subscription.
    fn grant(&mut self, waiting: &Call, now: Millis) -> Result<(), S::Error> {
        let subscribe = &waiting.subscribe;
        let until = self.options.terms.until(subscribe.ttl, now);
        let authorize_at = self.options.authorization_ttl_ms.map(|grant| now + grant);
        let former = self.roster.groups(&subscribe.name);
        if let Some(member) = self.roster.get_mut(&subscribe.id) {
            member.row.grant(subscribe, until, now);
            member.row.verified_until = waiting.verified_until;
            member.row.authorize_at = authorize_at;
            member.asked_at = None;
        }
        self.pages.forget_reader(&subscribe.id);
        if former != self.roster.groups(&subscribe.name) {
            self.pages.forget_name(&subscribe.name);
        }
        self.roster.put(&subscribe.id)
    }

    fn granted(&self, id: &str, is_truncated: bool, is_renewed: bool) -> String {
        let Some(member) = self.roster.get(id) else {
            return String::from("{}");
        };
        let progress = &member.row.progress;
        let granted = Granted {
            id,
            until: member.row.until,
            watermark: progress.watermark(),
            is_truncated,
            status: is_renewed.then(|| DeliveryStatus {
                is_throttled: progress.is_throttled(),
                failing_since: progress.failing_since(),
                last_failure: progress.last_failure(),
            }),
        };
        granted.to_json()
    }
}

impl Consent {
    fn until(self) -> Option<Millis> {
        match self {
            Self::Until(until) => Some(until),
            Self::NotNeeded | Self::Unknown => None,
        }
    }
}
