use alloc::{boxed::Box, string::String, vec::Vec};
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    clock::Millis,
    events::{
        error::{CodeSet, EventError},
        name::EventName,
    },
    json,
    vocabulary::{position::Cursor, scope::Name},
};

use super::{
    progress::Progress,
    schedule::{
        FIRST_MESSAGE_DELAY, MAX_ATTEMPTS, SECRET_OVERLAP, SUBSCRIBE_GRACE, next_attempt_at,
    },
    subscribe::SubscribeRequest,
};

/// A subscription as a store keeps it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookSubscription {
    /// The name of the subscriber.
    pub principal: Box<str>,
    /// The groups of the subscriber.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Name>,
    /// The type of the events.
    pub name: EventName,
    /// The arguments as canonical JSON.
    pub arguments: Box<str>,
    /// Where messages are sent to.
    pub url: Box<str>,
    /// The host of `url`.
    pub host: Box<str>,
    pub(super) secrets: Vec<StoredSecret>,
    pub(super) codes: CodeSet,
    /// When it was made or last renewed.
    pub(super) granted_at: Millis,
    /// When the server received the request for that; 0 if unknown.
    #[serde(default)]
    pub(super) asked_at: Millis,
    /// When the deliverer received that request; rows that were stored before lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    received_at: Option<Millis>,
    /// When it expires; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<Millis>,
    /// Until when the consent of the endpoint holds; `None` if it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) verified_until: Option<Millis>,
    /// When the server has to authorize it again; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) authorize_at: Option<Millis>,
    /// Whether everything up to the shared watermark of its event type is delivered or abandoned,
    /// if that is further than `progress`.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(super) is_caught_up: bool,
    pub(super) progress: Progress,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ending: Option<Ending>,
}

/// A secret as the host keeps it, which may be encrypted.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredSecret {
    text: Box<str>,
    /// Equal for equal secrets.
    digest: Box<str>,
    /// Until when messages are signed with it; `None` for the newest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Millis>,
}

/// The last message of a subscription that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ending {
    pub(super) error: EventError,
    pub(super) at: Millis,
    due: Millis,
    #[serde(default)]
    attempts: u32,
    #[serde(skip)]
    in_flight: bool,
}

impl WebhookSubscription {
    /// Makes a subscription that begins after `cursor`.
    pub(super) fn new(subscribe: &SubscribeRequest, cursor: Cursor) -> Self {
        Self {
            principal: subscribe.principal.clone(),
            groups: Vec::new(),
            name: subscribe.name.clone(),
            arguments: subscribe.arguments.clone(),
            url: subscribe.url.clone(),
            host: subscribe.host.clone(),
            secrets: Vec::new(),
            codes: subscribe.codes,
            granted_at: Millis(0),
            asked_at: Millis(0),
            received_at: None,
            until: None,
            verified_until: None,
            authorize_at: None,
            is_caught_up: false,
            progress: Progress::new(cursor),
            ending: None,
        }
    }

    /// Reads the text of [`WebhookSubscription::to_json`]; `None` if it is invalid.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    /// Returns the subscription as a store keeps it.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }

    /// Applies a call that makes or renews it, which the deliverer received at `received_at`.
    pub(super) fn apply(
        &mut self,
        subscribe: &SubscribeRequest,
        received_at: Millis,
        until: Option<Millis>,
        now: Millis,
    ) {
        self.groups.clone_from(&subscribe.groups);
        self.codes = subscribe.codes;
        self.granted_at = now;
        self.asked_at = subscribe.asked_at;
        self.received_at = Some(received_at);
        self.until = until;
        self.replace_secret(subscribe, now);
        self.progress.probe_now();
    }

    /// Makes a secret the newest one. Messages are also signed with the previous one for a while.
    fn replace_secret(&mut self, subscribe: &SubscribeRequest, now: Millis) {
        self.drop_secrets(now);
        self.secrets
            .retain(|own| own.digest != subscribe.secret_digest);
        for former in &mut self.secrets {
            former.until.get_or_insert(now + SECRET_OVERLAP);
        }
        let newest = StoredSecret {
            text: subscribe.secret.clone(),
            digest: subscribe.secret_digest.clone(),
            until: None,
        };
        self.secrets.insert(0, newest);
        self.secrets.truncate(MAX_SECRETS);
    }

    /// Drops the secrets that are no longer used. Returns whether there were any.
    pub(super) fn drop_secrets(&mut self, now: Millis) -> bool {
        let count = self.secrets.len();
        self.secrets
            .retain(|own| own.until.is_none_or(|until| until > now));
        self.secrets.len() < count
    }

    /// Returns the secrets to sign a message with, the newest first.
    pub(super) fn signing_secrets(&self, now: Millis) -> Vec<Box<str>> {
        let secrets = self.secrets.iter();
        let valid = secrets.filter(|own| own.until.is_none_or(|until| until > now));
        valid.map(|own| own.text.clone()).collect()
    }

    /// Returns when the deliverer received the call that made or last renewed it. If that is not
    /// known, when the call was complete.
    pub(super) fn received_at(&self) -> Millis {
        self.received_at.unwrap_or(self.granted_at)
    }

    /// Whether it has neither ended nor expired.
    pub(super) fn is_live(&self, now: Millis) -> bool {
        self.ending.is_none() && self.until.is_none_or(|until| until > now)
    }

    /// Whether a message may be sent: the subscriber has received the response to its request, and
    /// is still authorized.
    pub(super) fn may_send(&self, now: Millis) -> bool {
        self.granted_at + FIRST_MESSAGE_DELAY <= now && !self.needs_authorization(now)
    }

    /// Whether the server has to authorize it again.
    pub(super) fn needs_authorization(&self, now: Millis) -> bool {
        self.authorize_at.is_some_and(|at| at <= now)
    }

    /// Whether a status only says that the subscriber has not yet stored the subscription.
    pub(super) fn excuses(&self, status: u16, now: Millis) -> bool {
        status == 503 && now < self.granted_at + SUBSCRIBE_GRACE
    }

    /// Whether the consent of its endpoint is valid for a subscriber and a url.
    pub(super) fn has_consent_for(&self, principal: &str, url: &str, now: Millis) -> bool {
        let is_valid = self.verified_until.is_some_and(|until| until > now);
        is_valid && *self.principal == *principal && *self.url == *url
    }

    /// Ends it: nothing but the message that it has ended is sent.
    pub(super) fn end(&mut self, error: EventError, now: Millis) {
        self.ending.get_or_insert(Ending {
            error,
            at: now,
            due: now,
            attempts: 0,
            in_flight: false,
        });
    }

    /// Returns when something is due other than its messages and an expired authorization.
    pub(super) fn timeout(&self, now: Millis) -> Option<Millis> {
        let secrets = self.secrets.iter().filter_map(|own| own.until);
        let authorize_at = self.authorize_at.filter(|at| *at > now);
        secrets.chain(self.until).chain(authorize_at).min()
    }
}

impl Ending {
    /// Whether the message is to be sent now.
    pub(super) fn is_due(&self, now: Millis) -> bool {
        !self.in_flight && self.due <= now
    }

    /// Returns when the message is to be sent, unless it is being sent.
    pub(super) fn timeout(&self) -> Option<Millis> {
        (!self.in_flight).then_some(self.due)
    }

    pub(super) fn start(&mut self) {
        self.in_flight = true;
    }

    /// Handles that the message could not be delivered. Returns whether it is sent again.
    pub(super) fn fail(&mut self, retry_after: Option<Millis>, now: Millis, random: f64) -> bool {
        self.in_flight = false;
        self.attempts += 1;
        self.due = next_attempt_at(self.attempts, self.at, retry_after, now, random);
        self.attempts < MAX_ATTEMPTS
    }
}

/// Shows nothing that identifies the subscriber or opens the endpoint.
impl fmt::Debug for WebhookSubscription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut subscription = formatter.debug_struct("WebhookSubscription");
        subscription.field("name", &self.name);
        subscription.field("progress", &self.progress);
        subscription.finish_non_exhaustive()
    }
}

/// The newest secret, and those that it replaced within [`SECRET_OVERLAP`].
const MAX_SECRETS: usize = 3;
