use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    events::{
        cue_group,
        error::CodeSet,
        exchange::{self, EventSubject, Subscribe},
        topic,
        webhook::RequestedTtl,
    },
    scope::Name,
};

use crate::response::HttpResponse;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** What a request is about: a name, which may be unknown, and canonical JSON text. */
export interface EventSubject {
  name: string;
  arguments: string;
}

/** A webhook to subscribe, as the client requested it. */
export interface EventSubscribe extends EventSubject {
  principal: string;
  groups: string[];
  url: string;
  secret: string;
  /** The suggested lifetime; `for` is in milliseconds. */
  ttl: 'default' | 'endless' | { for: number };
  cursor: string | undefined;
  maxAgeMs: number | undefined;
  /** The error numbers for the end of the subscription. */
  codes: 'sep' | 'sketch';
}

/** The next step for a request about events. */
export type EventStep =
  | { kind: 'respond'; response: HttpResponse }
  /** Pass it on: it is not about events. */
  | { kind: 'pass' }
  /** Read its body, up to this many bytes and a little more, then call `handleBody`. */
  | { kind: 'body'; maxBytes: number }
  /** Authenticate its caller, then call `handleCaller`, or refuse it. */
  | { kind: 'caller' }
  /** Find out which of these event types its caller may know of, then call `handleShown`. */
  | { kind: 'authorizeList'; names: string[] }
  /** Find out whether its caller may receive this, then call `handleAllowed` or
   * `handleDenied`. */
  | ({ kind: 'authorize'; mode: DeliveryMode } & EventSubject)
  /** Validate the arguments by the schema of the event type, then call `handleValidity`. */
  | ({ kind: 'validate' } & EventSubject)
  /** Ask the log of the bus, then call `handlePage`. */
  | { kind: 'page'; query: string }
  /** Match each occurrence of the page, in order, then call `handleMatchResults`. */
  | ({ kind: 'match' } & EventSubject)
  /** Follow this resource for these groups, then `open` the stream of an `EventStreams`. */
  | { kind: 'stream'; name: string; uri: string; groups: string[] }
  /** Subscribe this webhook, then call `handleResponse`. */
  | ({ kind: 'subscribe' } & EventSubscribe)
  /** Unsubscribe this webhook, then call `handleResponse`. */
  | ({ kind: 'unsubscribe'; principal: string; url: string } & EventSubject);
";

#[derive(Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(super) enum Step {
    Respond {
        response: HttpResponse,
    },
    Pass,
    Body {
        max_bytes: usize,
    },
    Caller,
    AuthorizeList {
        names: Vec<String>,
    },
    Authorize {
        mode: &'static str,
        name: String,
        arguments: String,
    },
    Validate(About),
    Page {
        query: String,
    },
    Match(About),
    Stream {
        name: String,
        uri: String,
        groups: Vec<String>,
    },
    Subscribe(Box<Webhook>),
    Unsubscribe {
        principal: String,
        name: String,
        arguments: String,
        url: String,
    },
}

#[derive(Serialize)]
pub(super) struct About {
    name: String,
    arguments: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Webhook {
    name: String,
    arguments: String,
    principal: String,
    groups: Vec<String>,
    url: String,
    secret: String,
    ttl: RequestedTtl,
    cursor: Option<String>,
    max_age_ms: Option<f64>,
    codes: CodeSet,
}

impl Step {
    /// `None` for a step that these bindings do not know.
    pub(super) fn of(step: exchange::EventStep) -> Option<Self> {
        Some(match step {
            exchange::EventStep::Pass => Self::Pass,
            exchange::EventStep::Respond(response) => Self::Respond {
                response: response.into(),
            },
            exchange::EventStep::Body { max_bytes } => Self::Body { max_bytes },
            exchange::EventStep::Caller => Self::Caller,
            exchange::EventStep::AuthorizeList { names } => Self::AuthorizeList {
                names: names.iter().map(|name| name.to_string()).collect(),
            },
            exchange::EventStep::Authorize { mode, subject } => Self::Authorize {
                mode: mode.name(),
                name: subject.name.into(),
                arguments: subject.arguments.into(),
            },
            exchange::EventStep::Validate { subject } => Self::Validate(subject.into()),
            exchange::EventStep::Page(query) => Self::Page {
                query: query.to_json(),
            },
            exchange::EventStep::Match { subject } => Self::Match(subject.into()),
            exchange::EventStep::Stream { name, groups } => {
                let own = groups.iter().map(|group| &**group);
                let groups = core::iter::once("").chain(own).filter_map(cue_group);
                Self::Stream {
                    uri: topic(&name).map_or_else(String::new, |uri| uri.to_string()),
                    name: name.to_string(),
                    groups: groups.map(text).collect(),
                }
            }
            exchange::EventStep::Subscribe(webhook) => Self::Subscribe(Box::new((*webhook).into())),
            exchange::EventStep::Unsubscribe {
                principal,
                subject,
                url,
            } => Self::Unsubscribe {
                principal: principal.into(),
                name: subject.name.into(),
                arguments: subject.arguments.into(),
                url: url.into(),
            },
            _ => return None,
        })
    }
}

impl From<EventSubject> for About {
    fn from(subject: EventSubject) -> Self {
        Self {
            name: subject.name.into(),
            arguments: subject.arguments.into(),
        }
    }
}

impl From<Subscribe> for Webhook {
    fn from(webhook: Subscribe) -> Self {
        let Subscribe {
            subject,
            start,
            delivery,
            ..
        } = webhook;
        Self {
            name: subject.name.into(),
            arguments: subject.arguments.into(),
            principal: webhook.principal.into(),
            groups: webhook.groups.into_iter().map(text).collect(),
            url: delivery.url.into(),
            secret: delivery.secret.into(),
            ttl: delivery.ttl,
            cursor: start.cursor.map(Into::into),
            max_age_ms: start.max_age.map(mcp_listen::clock::Millis::as_f64),
            codes: webhook.codes,
        }
    }
}

fn text(label: Name) -> String {
    label.to_string()
}
