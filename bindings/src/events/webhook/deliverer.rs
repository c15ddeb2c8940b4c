use wasm_bindgen::prelude::*;

use mcp_listen::{
    events::{
        EventName,
        catalogue::{Catalogue, Mode},
        error::{EventError, Missing},
        matching::match_results,
        page::Page,
        webhook::{
            Authorization, Deliverer, DelivererOptions, Disconnect, MatchRules, Outcome,
            SubscribeRequest,
        },
    },
    json,
    position::Cursor,
};

use crate::{
    error::{coded, malformed},
    number::millis,
    object::{object, optional},
    position::position,
};

use super::{
    output::{Counts, Step, response_of},
    rows::Rows,
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The lifetimes and limits of an `EventDeliverer`. Times are in milliseconds. */
export interface DelivererOptions {
  ttl?: {
    /** Lifetime if the client requests none. Default 1 hour. */
    defaultTtlMs?: number;
    /** Minimum lifetime, also if a client asks for less. Default 5 minutes. */
    minTtlMs?: number;
    /** Maximum lifetime. Default 24 hours. */
    maxTtlMs?: number;
    /** Whether clients may request subscriptions that do not expire. Default false. */
    noExpiry?: boolean;
  };
  /** How often the server authorizes subscriptions again. Default: only when they are renewed. */
  authorizationTtlMs?: number;
  /** Subscriptions of one subscriber. Default 100. */
  maxPerPrincipal?: number;
  /** Subscriptions of this deliverer. Default 10,000. */
  maxHeld?: number;
  /** Subscriptions of the whole bus. Default 10,000. */
  maxTotal?: number;
}

/** A webhook to subscribe: an `EventSubscribe` with what the host has found out. */
export interface WebhookSubscribe extends EventSubscribe {
  /** See `subscriptionId`. */
  id: string;
  /** The arguments, canonical. */
  arguments: string;
  /** The secret as the rows keep it, and `WebhookPost` returns it: it may be encrypted. */
  secret: string;
  /** Equal for equal secrets, and not to be traced back to them. */
  secretDigest: string;
  /** See `AcceptedCallback`. */
  host: string;
  /** See `AcceptedCallback`. */
  isAllowed: boolean;
  /** The text of 32 random bytes. */
  challenge: string;
  /** Subscriptions of the whole bus, with all that are here now; 0 for an id that `isLive`. */
  total?: number;
  /** When the server received the request, before it authorized the subscriber; 0 if unknown. */
  askedAt?: number;
}

/** The outcome of a message. */
export type WebhookOutcome =
  | { response: { status: number; retryAfterMs?: number; body?: string } }
  | { failure: 'connection_refused' | 'timeout' | 'tls_error' }
  /** The host could not send it, for a reason that is not of the endpoint. */
  | 'unsent';
";

/// Delivers occurrences to webhooks. After each call, carry out what `poll` returns until it
/// returns undefined. Times are in milliseconds since 1970; `random` is from [0, 1).
#[wasm_bindgen]
pub struct EventDeliverer(Deliverer<Rows>);

#[wasm_bindgen]
impl EventDeliverer {
    /// Reads the subscriptions of a store. `options` is the JSON text of `DelivererOptions`,
    /// `events` that of the definitions of an `EventService`. `alarm` is when the alarm is set to;
    /// while it is being handled, when that began.
    #[wasm_bindgen(constructor)]
    pub fn new(
        rows: Rows,
        options: &str,
        events: &str,
        alarm: Option<f64>,
    ) -> Result<Self, JsValue> {
        let options = DelivererOptions::from_json(options)
            .ok_or_else(|| coded("invalid-options", "the options cannot be read"))?;
        let catalogue = Catalogue::from_json(events, Mode::ALL.into_iter().collect());
        let catalogue = catalogue.map_err(|error| coded("invalid-options", &error.to_string()))?;
        let alarm = alarm.map(millis);
        Deliverer::new(rows, options, matches_of(&catalogue), alarm).map(Self)
    }

    /// Returns the next step.
    #[wasm_bindgen(unchecked_return_type = "DelivererStep | undefined")]
    pub fn poll(&mut self) -> JsValue {
        optional(self.0.poll_output().and_then(Step::of))
    }

    /// Returns the event types that have subscriptions. Have the bus call `wake` for them.
    pub fn names(&self) -> Vec<String> {
        self.0.names().map(|name| name.to_string()).collect()
    }

    #[wasm_bindgen(unchecked_return_type = "DelivererCounts")]
    pub fn counts(&self) -> JsValue {
        object(&Counts::from(self.0.counts()))
    }

    /// Whether nothing is being sent or read, and nothing is due now.
    #[wasm_bindgen(getter, js_name = isIdle)]
    pub fn is_idle(&self) -> bool {
        self.0.is_idle()
    }

    /// Whether there is a subscription with this id that has neither ended nor expired.
    #[wasm_bindgen(js_name = isLive)]
    pub fn is_live(&self, id: &str, now: f64) -> bool {
        self.0.is_live(id, millis(now))
    }

    /// Makes or renews a subscription. `subscribe` is the JSON text of a `WebhookSubscribe`; a step
    /// `respond` with the number of the call follows, within 10 seconds.
    pub fn subscribe(&mut self, call: u32, subscribe: &str, now: f64) -> Result<(), JsValue> {
        let subscribe =
            SubscribeRequest::from_json(subscribe).ok_or_else(|| malformed("the subscription"))?;
        self.0.handle_subscribe(call, subscribe, millis(now))
    }

    /// Removes a subscription. Returns the response for `EventExchange.responded`.
    pub fn unsubscribe(&mut self, id: &str, now: f64) -> Result<String, JsValue> {
        let is_known = self.0.handle_unsubscribe(id, millis(now))?;
        let missing = EventError::NotFound(Missing::Subscription);
        Ok(response_of(if is_known {
            Ok("{}".into())
        } else {
            Err(missing)
        }))
    }

    /// The bus has an occurrence of this event type, and ends at `head` in the log `epoch`. Confirm
    /// that to the bus once the steps are carried out.
    pub fn wake(&mut self, name: &str, epoch: &str, head: f64, now: f64) -> Result<(), JsValue> {
        let head = Cursor {
            epoch: epoch.into(),
            position: position(head),
        };
        self.0.handle_wake(&name_of(name)?, head, millis(now))
    }

    /// The alarm went off.
    pub fn alarm(&mut self, now: f64, random: f64) -> Result<(), JsValue> {
        self.0.handle_alarm(millis(now), random)
    }

    /// Takes the outcome of a message, the JSON text of a `WebhookOutcome`.
    pub fn sent(&mut self, post: u32, outcome: &str, now: f64, random: f64) -> Result<(), JsValue> {
        let outcome = Outcome::from_json(outcome).ok_or_else(|| malformed("the outcome"))?;
        self.0.handle_sent(post, &outcome, millis(now), random)
    }

    /// Takes the page for the query of a `read`.
    pub fn page(&mut self, read: u32, page: &str, now: f64) -> Result<(), JsValue> {
        let page = Page::from_json(page).ok_or_else(|| malformed("the page"))?;
        self.0.handle_page(read, page, millis(now))
    }

    /// A `read` or `match` failed.
    #[wasm_bindgen(js_name = readFailed)]
    pub fn read_failed(&mut self, read: u32, now: f64, random: f64) -> Result<(), JsValue> {
        self.0.handle_read_failed(read, millis(now), random)
    }

    /// Takes the match results of the occurrences of a page, as `EventExchange.handleMatchResults`
    /// does.
    pub fn matched(&mut self, read: u32, results: &str, now: f64) -> Result<(), JsValue> {
        let results = match_results(results).unwrap_or_default();
        self.0.handle_match_results(read, &results, millis(now))
    }

    /// Takes whether a subscriber may still receive what it subscribed to; undefined if that could
    /// not be found out. `groups` is the JSON text of its groups if they may have changed. If one
    /// is not valid, `authorize` follows again later, as for undefined, and this returns false.
    pub fn authorized(
        &mut self,
        subscription: &str,
        is_allowed: Option<bool>,
        groups: Option<String>,
        now: f64,
    ) -> Result<bool, JsValue> {
        let changed = groups.as_deref().map(json::from_text);
        let is_valid = !matches!(changed, Some(None));
        let authorization = match is_allowed {
            Some(false) => Authorization::Denied,
            Some(true) if is_valid => Authorization::Allowed(changed.flatten()),
            _ => Authorization::Unknown,
        };
        self.0
            .handle_authorized(subscription, authorization, millis(now))?;
        Ok(is_valid)
    }

    /// Ends the subscriptions of a subscriber that was disconnected: `publishedAt` by the clock
    /// of the bus, `at` by that of this host. Those that were made or renewed later remain.
    pub fn disconnected(
        &mut self,
        principal: &str,
        #[wasm_bindgen(js_name = publishedAt)] published_at: f64,
        at: f64,
        now: f64,
    ) -> Result<(), JsValue> {
        let disconnect = Disconnect {
            published_at: millis(published_at),
            at: millis(at),
        };
        self.0
            .handle_disconnected(principal, disconnect, millis(now))
    }

    /// Ends the subscriptions to an event type, as an `EndedEvent` says.
    pub fn ended(&mut self, name: &str, error: &str, now: f64) -> Result<(), JsValue> {
        let error = EventError::from_json(error).ok_or_else(|| malformed("the error"))?;
        self.0.handle_ended(&name_of(name)?, &error, millis(now))
    }
}

fn matches_of(catalogue: &Catalogue) -> MatchRules {
    let known = catalogue.names().filter_map(|name| catalogue.get(name));
    known
        .map(|(name, definition)| (name.clone(), definition.matching.clone()))
        .collect()
}

fn name_of(name: &str) -> Result<EventName, JsValue> {
    EventName::new(name).map_err(|error| coded("invalid-event-name", &error.to_string()))
}
