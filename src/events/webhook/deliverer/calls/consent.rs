//! The consent of endpoints.

use crate::{clock::Millis, events::error::EventError};

use super::{
    super::{
        super::{
            envelope::{self, is_echo},
            outcome::{Failure, Outcome},
            schedule::CONSENT_TTL,
            store::Store,
            subscribe::Subscribe,
        },
        Deliverer, MessageKind, Output, Post,
        in_flight::Content,
        message_id,
    },
    Call,
};

/// Whether an endpoint wants the messages of a subscriber.
pub(super) enum Consent {
    /// The origin is allowed by configuration.
    NotNeeded,
    /// The endpoint returned the challenge; valid until this time.
    Until(Millis),
    Unknown,
}

impl<S: Store> Deliverer<S> {
    /// Returns whether an endpoint has consented.
    ///
    /// # Errors
    /// If that is unknown, and the endpoint may not be asked now.
    pub(super) fn consent(
        &mut self,
        subscribe: &Subscribe,
        now: Millis,
    ) -> Result<Consent, EventError> {
        if subscribe.is_allowed {
            return Ok(Consent::NotNeeded);
        }
        let rows = self.subscriptions.iter().map(|(_, entry)| &entry.row);
        let verified =
            rows.filter(|row| row.has_consent_for(&subscribe.principal, &subscribe.url, now));
        match verified.filter_map(|row| row.verified_until).max() {
            Some(until) => Ok(Consent::Until(until)),
            None => self
                .calls
                .challenge(subscribe, now)
                .map(|()| Consent::Unknown),
        }
    }

    /// Asks an endpoint for its consent.
    pub(super) fn send_verification(&mut self, call: u32, subscribe: Subscribe, now: Millis) {
        let of = (&*subscribe.id, &*subscribe.host);
        let post = Post {
            post: self.in_flight.start(of, Content::Verification(call), now),
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
    pub(in super::super) fn verification_sent(
        &mut self,
        call: u32,
        outcome: &Outcome,
        now: Millis,
    ) -> Result<(), S::Error> {
        let Some(mut waiting) = self.calls.take(call) else {
            return Ok(());
        };
        let challenge = &waiting.subscribe.challenge;
        if outcome.body().is_some_and(|body| is_echo(body, challenge)) {
            waiting.verified_until = Some(now + CONSENT_TTL);
            return self.create_or_renew(call, waiting, now);
        }
        let failure = match outcome {
            Outcome::Failure(failure) => *failure,
            Outcome::Response(_) => Failure::ChallengeFailed,
        };
        let error = EventError::CallbackEndpoint(failure.name().into());
        self.respond(call, Err(error));
        Ok(())
    }
}

impl Consent {
    pub(super) fn until(self) -> Option<Millis> {
        match self {
            Self::Until(until) => Some(until),
            Self::NotNeeded | Self::Unknown => None,
        }
    }
}
