//! The consent of endpoints.

use crate::{clock::Millis, events::error::EventError};

use super::{
    super::{
        super::{
            envelope::{self, is_echo},
            outcome::{Failure, Outcome},
            schedule::CONSENT_TTL,
            store::WebhookStore,
            subscribe::SubscribeRequest,
        },
        Deliverer, DelivererOutput, MessageKind, Post,
        in_flight::{Content, Destination, MAX_PER_PRINCIPAL},
        message_id,
    },
    SubscribeCall, exhausted,
};

/// Whether an endpoint wants the messages of a subscriber.
pub(super) enum Consent {
    /// The origin is allowed by configuration.
    NotNeeded,
    /// The endpoint returned the challenge; valid until this time.
    Until(Millis),
    Unknown,
}

impl<S: WebhookStore> Deliverer<S> {
    /// Returns whether an endpoint has consented.
    ///
    /// # Errors
    /// If that is unknown, and the endpoint may not be asked now.
    pub(super) fn consent(
        &mut self,
        subscribe: &SubscribeRequest,
        now: Millis,
    ) -> Result<Consent, EventError> {
        if subscribe.is_allowed {
            return Ok(Consent::NotNeeded);
        }
        let rows = self.subscriptions.iter().map(|(_, entry)| &entry.row);
        let verified =
            rows.filter(|row| row.has_consent_for(&subscribe.principal, &subscribe.url, now));
        // The endpoint of a live subscription has consented. Its time stays as it is: an expired
        // consent vouches for no new subscription.
        let renewed = || self.live(&subscribe.id, now)?.verified_until;
        let until = verified.filter_map(|row| row.verified_until).max();
        match until.or_else(renewed) {
            Some(until) => Ok(Consent::Until(until)),
            None => self
                .calls
                .challenge(subscribe, now)
                .map(|()| Consent::Unknown),
        }
    }

    /// Asks endpoints for their consent, as far as there is room. A call that has waited for too
    /// long is refused.
    pub(in super::super) fn send_challenges(&mut self, now: Millis) {
        let mut unsent = self.calls.take_unsent();
        unsent.retain(|call| !self.send_challenge(*call, now));
        self.calls.keep_unsent(unsent);
    }

    /// Sends the challenge of a call. Returns whether it is no longer to be sent.
    fn send_challenge(&mut self, call: u32, now: Millis) -> bool {
        let Some(SubscribeCall {
            began, subscribe, ..
        }) = self.calls.get(call)
        else {
            return true;
        };
        if *began + MAX_CHALLENGE_WAIT <= now {
            self.calls.take(call);
            self.respond(call, Err(exhausted("challenges", MAX_PER_PRINCIPAL)));
            return true;
        }
        let route = Destination {
            principal: subscribe.principal.clone(),
            host: subscribe.host.clone(),
            is_slow: self.subscriptions.is_slow(&subscribe.host),
        };
        if self.in_flight.check_room(&route, now).is_err() {
            return false;
        }
        let of = (&*subscribe.id, route);
        let post = Post {
            post: self.in_flight.start(of, Content::Verification(call), now),
            kind: MessageKind::Verification,
            subscription: subscribe.id.clone(),
            message: message_id(MessageKind::Verification, &subscribe.id, now),
            url: subscribe.url.clone(),
            body: envelope::verification(&subscribe.challenge),
            secrets: vec![subscribe.secret.clone()],
        };
        self.posts.push(DelivererOutput::Post(post));
        true
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
        let refusal = |failure: Failure| EventError::CallbackEndpoint(failure.name().into());
        let error = match outcome {
            Outcome::Failure(failure) => refusal(*failure),
            Outcome::Response(_) => refusal(Failure::ChallengeFailed),
            Outcome::Unsent => EventError::Internal("webhook".into()),
        };
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

/// How long a challenge may wait until it is sent. With the 10 seconds of the endpoint, the client
/// has its response before it gives up.
const MAX_CHALLENGE_WAIT: Millis = Millis(10_000);
