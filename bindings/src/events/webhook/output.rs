use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    clock::Millis,
    events::{error::EventError, webhook},
};

use crate::number::time;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** A step of an `EventDeliverer`, to be carried out in order. */
export type DelivererStep =
  /** Set the alarm, or remove it, and be sure of that before anything that follows. */
  | { kind: 'setAlarm'; at: number | undefined }
  /** Have the bus call `wake` for this event type. */
  | { kind: 'follow'; name: string }
  | { kind: 'unfollow'; name: string }
  /** Ask the log of the bus, then call `page` or `readFailed`. */
  | { kind: 'read'; read: number; query: string }
  /** Match each occurrence of the page, then call `matched` or `readFailed`. */
  | { kind: 'match'; read: number; name: string; arguments: string; page: string }
  /** Send a message, then call `sent`. */
  | { kind: 'post'; post: WebhookPost }
  /** Find out whether the subscriber may still receive this, then call `authorized`. */
  | {
      kind: 'authorize';
      subscription: string;
      principal: string;
      groups: string[];
      name: string;
      arguments: string;
    }
  /** Respond to this call of `subscribe`: `EventExchange.responded` takes the response. */
  | { kind: 'respond'; call: number; response: string };

/** A message to send by POST within 10 seconds, without following redirects. */
export interface WebhookPost {
  /** The number of the message. */
  number: number;
  /** The body of the response to a `verification` is reported to `sent`, up to 4 KiB. */
  kind: 'event' | 'verification' | 'gap' | 'terminated';
  /** Sent as `X-MCP-Subscription-Id`. */
  subscription: string;
  /** Sent as `webhook-id`, and signed. */
  id: string;
  url: string;
  body: string;
  /** The secrets to sign it with, as the host has given them, the newest first. */
  secrets: string[];
}

/** What an `EventDeliverer` has to do. */
export interface DelivererCounts {
  subscriptions: number;
  /** Subscriptions whose endpoint is down. */
  throttled: number;
  /** Occurrences that are being sent or wait for another attempt. */
  waiting: number;
  /** Messages that are being sent. */
  inFlight: number;
}
";

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(super) enum Step {
    SetAlarm {
        at: Option<f64>,
    },
    Follow {
        name: String,
    },
    Unfollow {
        name: String,
    },
    Read {
        read: u32,
        query: String,
    },
    Match {
        read: u32,
        name: String,
        arguments: String,
        page: String,
    },
    Post {
        post: Post,
    },
    Authorize {
        subscription: String,
        principal: String,
        groups: Vec<String>,
        name: String,
        arguments: String,
    },
    Respond {
        call: u32,
        response: String,
    },
}

#[derive(Serialize)]
pub(super) struct Post {
    number: u32,
    kind: &'static str,
    subscription: String,
    id: String,
    url: String,
    body: String,
    secrets: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Counts {
    subscriptions: usize,
    throttled: usize,
    waiting: usize,
    in_flight: usize,
}

impl Step {
    /// `None` for an output that this version does not know.
    pub(super) fn of(output: webhook::DelivererOutput) -> Option<Self> {
        use webhook::DelivererOutput;
        Some(match output {
            DelivererOutput::SetAlarm(at) => Self::SetAlarm {
                at: at.map(|at: Millis| time(at)),
            },
            DelivererOutput::Follow(name) => Self::Follow {
                name: name.to_string(),
            },
            DelivererOutput::Unfollow(name) => Self::Unfollow {
                name: name.to_string(),
            },
            DelivererOutput::Read { read, query } => Self::Read {
                read,
                query: query.to_json(),
            },
            DelivererOutput::Match {
                read,
                name,
                arguments,
                page,
            } => Self::Match {
                read,
                name: name.to_string(),
                arguments: arguments.into(),
                page,
            },
            DelivererOutput::Post(post) => Self::Post { post: post.into() },
            DelivererOutput::Authorize {
                subscription,
                principal,
                groups,
                name,
                arguments,
            } => Self::Authorize {
                subscription: subscription.into(),
                principal: principal.into(),
                groups: groups.iter().map(|group| group.to_string()).collect(),
                name: name.to_string(),
                arguments: arguments.into(),
            },
            DelivererOutput::Respond { call, response } => Self::Respond {
                call,
                response: response_of(response),
            },
            _ => return None,
        })
    }
}

/// Returns a response as `EventExchange.responded` reads it.
pub(super) fn response_of(response: Result<String, EventError>) -> String {
    match response {
        Ok(members) => format!("{{\"result\":{members}}}"),
        Err(error) => format!("{{\"error\":{}}}", error.to_json()),
    }
}

impl From<webhook::Post> for Post {
    fn from(post: webhook::Post) -> Self {
        Self {
            number: post.post,
            kind: post.kind.name(),
            subscription: post.subscription.into(),
            id: post.message.into(),
            url: post.url.into(),
            body: post.body,
            secrets: post.secrets.into_iter().map(String::from).collect(),
        }
    }
}

impl From<webhook::DelivererCounts> for Counts {
    fn from(counts: webhook::DelivererCounts) -> Self {
        Self {
            subscriptions: counts.subscriptions,
            throttled: counts.throttled,
            waiting: counts.waiting,
            in_flight: counts.in_flight,
        }
    }
}
