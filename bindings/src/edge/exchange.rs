use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::Capabilities,
    clock::Millis,
    error::Reason,
    exchange,
    filter::SubscriptionFilter,
    isolate::Joining,
    legacy::{self, Call, LegacyRequest, event_id},
    listen::{Accepted, ServerStream, Stamp},
    message,
    scope::Scope,
    topic::Topic,
    upstream::Past,
};

use crate::{
    error::coded,
    number::millis,
    object::{object, optional},
    text::uris_of,
};

use super::{
    answer::Answer, discovered::Discovered, grant::scope_of, options::filter_of, refusal::Refusal,
    stream::Stream, tally::Tally,
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** What is to be done for a request. */
export type Step =
  | { kind: 'answer'; answer: Answer }
  /** Read its body, up to so many bytes and a little more, for `read`. */
  | { kind: 'body'; most: number }
  /** Name its caller: `named`, or refuse it. */
  | { kind: 'caller' }
  /** Find out whether a session may have the id that it names: `known`, or refuse it. */
  | { kind: 'session' }
  /** Find out which part of `requested` (a filter as JSON text) its caller may hear, and `open` a stream for it. */
  | { kind: 'listen'; requested: string }
  | ({ kind: 'legacy' } & LegacyRequest)
  /** Hand it to the server behind, whose answer names no capabilities that are not served, where it `withholds`. */
  | { kind: 'pass'; withholds: boolean };

/** A request of an earlier revision. */
export interface LegacyRequest {
  /** The id of its session. */
  session: string | undefined;
  call: LegacyCall;
  /** The resource to subscribe to, or no more. */
  uri: string | undefined;
  /** The last event that the client has seen. */
  lastEventId: string | undefined;
}

/**
 * What a request of an earlier revision asks for: a new session; the session is in use; a sign of life; updates of one resource, or no
 * more of them; one of the two with bad parameters; the session's stream; the session is over; something for the server behind.
 */
export type LegacyCall =
  | 'initialize' | 'initialized' | 'ping' | 'subscribe' | 'unsubscribe' | 'invalid' | 'open' | 'end' | 'other';

/** The answer to `initialize`, and what the session was told that it is notified about, as JSON texts. */
export interface LegacyInitialized {
  answer: string;
  capabilities: string;
}
";

/// One request on its way: what has to be found out of it, in which order, and what becomes of it.
#[wasm_bindgen]
pub struct Exchange {
    core: exchange::Exchange,
    accepted: Option<Accepted>,
    legacy: Option<LegacyRequest>,
}

#[derive(Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Step {
    Answer {
        answer: Answer,
    },
    Body {
        most: usize,
    },
    Caller,
    Session,
    Listen {
        requested: String,
    },
    Legacy {
        session: Option<String>,
        call: &'static str,
        uri: Option<String>,
        last_event_id: Option<String>,
    },
    Pass {
        withholds: bool,
    },
}

#[derive(Serialize)]
struct Initialized {
    answer: String,
    capabilities: String,
}

#[wasm_bindgen]
impl Exchange {
    /// Names and values of header fields to add to the answer, also to one of the server behind.
    #[wasm_bindgen(getter, unchecked_return_type = "[string, string][]")]
    pub fn fields(&self) -> JsValue {
        object(&self.core.fields())
    }

    /// The next thing to do: the same again until that is done.
    #[wasm_bindgen(unchecked_return_type = "Step")]
    pub fn step(&mut self) -> JsValue {
        let step = match self.core.poll() {
            exchange::Step::Answer(answer) => Step::Answer {
                answer: answer.into(),
            },
            exchange::Step::Body { most } => Step::Body { most },
            exchange::Step::Caller => Step::Caller,
            exchange::Step::Session => Step::Session,
            exchange::Step::Listen(accepted) => {
                let requested = accepted.requested.to_json();
                self.accepted = Some(accepted);
                Step::Listen { requested }
            }
            exchange::Step::Legacy(request) => {
                let step = step_of(&request);
                self.legacy = Some(request);
                step
            }
            exchange::Step::Pass { withholds } => Step::Pass { withholds },
            _ => Step::Pass { withholds: false },
        };
        object(&step)
    }

    /// The body was read; one over the limit may be cut off anywhere beyond it.
    pub fn read(&mut self, body: Vec<u8>) {
        self.core.handle_body(body);
    }

    /// The caller was named, or needs no name.
    pub fn named(&mut self) {
        self.core.handle_caller();
    }

    /// A session may have the id that the request names.
    pub fn known(&mut self) {
        self.core.handle_session();
    }

    /// The refusal of this request.
    #[wasm_bindgen(unchecked_return_type = "Answer")]
    pub fn refuse(&self, refusal: Refusal) -> JsValue {
        self.refused(refusal.reason())
    }

    /// The refusal where its parameters are bad.
    #[wasm_bindgen(js_name = refuseParams, unchecked_return_type = "Answer")]
    pub fn refuse_params(&self) -> JsValue {
        match self.legacy.as_ref().map(|legacy| &legacy.call) {
            Some(Call::Invalid(reason)) => self.refused(reason.clone()),
            _ => self.refused(Reason::InvalidParams("params are none")),
        }
    }

    /// The refusal where the session watches as many URIs as it may, or, with `isOfBytes`, as many bytes of them.
    #[wasm_bindgen(js_name = refuseUri, unchecked_return_type = "Answer")]
    pub fn refuse_uri(
        &self,
        limit: usize,
        #[wasm_bindgen(js_name = isOfBytes)] is_of_bytes: bool,
    ) -> JsValue {
        let what = if is_of_bytes {
            "Too many bytes of resource URIs"
        } else {
            "Too many resource URIs"
        };
        self.refused(Reason::LimitExceeded { what, limit })
    }

    /// Bytes that the names of a listen count, and those of its caller's `scope`, which is JSON text.
    pub fn names(&self, scope: &str) -> usize {
        let Some(accepted) = &self.accepted else {
            return 0;
        };
        let filter = SubscriptionFilter {
            scope: Scope::from_json(scope).unwrap_or_default(),
            ..accepted.requested.clone()
        };
        filter.topics().iter().map(Topic::names).sum()
    }

    /// The stream that answers a listen: what is honored is what the server advertises and `authorized` (JSON
    /// text of a filter; undefined: everything) names too. `scope` names the caller and its audiences, as JSON text:
    /// `audiences`, and its name in `principals`; throws where one of them is no name. Keep-alives every `keepAliveMs`; 0: none. What happens is
    /// counted in `tally`.
    pub fn open(
        &self,
        discovered: &Discovered,
        authorized: Option<String>,
        scope: &str,
        #[wasm_bindgen(js_name = keepAliveMs)] keep_alive_ms: f64,
        now: f64,
        tally: &Tally,
    ) -> Result<Stream, JsValue> {
        let accepted = self.accepted.as_ref().ok_or_else(out_of_place)?;
        let authorized = authorized.as_deref().map(filter_of).transpose()?;
        let (keep_alive, now) = (millis(keep_alive_ms), millis(now));
        let mut stream = accepted.open(&discovered.0, authorized.as_ref(), keep_alive, now);
        stream.scope_to(scope_of(scope)?);
        stream.count_in(tally.0.clone());
        Ok(stream.into())
    }

    /// The answer to `initialize`, made from the body of the handler's; `known` is what the server
    /// really notifies about, as JSON text. Undefined where the handler gave no result.
    #[wasm_bindgen(unchecked_return_type = "LegacyInitialized | undefined")]
    pub fn initialized(&self, body: &[u8], known: Option<String>) -> JsValue {
        let known = known.as_deref().map(Capabilities::from_json);
        let id = self.legacy.as_ref().and_then(|legacy| legacy.id.as_ref());
        let initialized = id.and_then(|id| legacy::initialized(id, body, known));
        optional(initialized.map(|initialized| Initialized {
            answer: initialized.answer,
            capabilities: initialized.capabilities.to_json(),
        }))
    }

    /// The empty result of a request of an earlier revision.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> Option<String> {
        let id = self.legacy.as_ref()?.id.as_ref();
        id.map(|id| message::result(id, "{}"))
    }
}

/// The session's stream for the lists of `capabilities` that `authorized` names too (JSON
/// texts; undefined: all of them), and for what the session watches, but those `watched` URIs that
/// `authorized` does not name. It goes on from the event id `since`. Keep-alives every `keepAliveMs`; 0: none.
#[wasm_bindgen(js_name = sessionStream)]
pub fn session_stream(
    capabilities: &str,
    watched: Vec<String>,
    authorized: Option<String>,
    since: Option<String>,
    #[wasm_bindgen(js_name = keepAliveMs)] keep_alive_ms: f64,
    now: f64,
) -> Result<Stream, JsValue> {
    let capabilities = Capabilities::from_json(capabilities);
    let authorized = authorized.as_deref().map(filter_of).transpose()?;
    let lists = SubscriptionFilter::lists(capabilities).honored(capabilities, authorized.as_ref());
    let (keep_alive, now): (Millis, Millis) = (millis(keep_alive_ms), millis(now));
    let stream = ServerStream::with_stamp(Stamp::None, lists, keep_alive, now);
    let past = since.map_or(Past::None, |id| {
        event_id::read(&id).map_or(Past::Unknown, Past::Since)
    });
    let mut denied = uris_of(&watched);
    denied.retain(|uri| {
        let by = authorized.as_ref();
        by.is_some_and(|by| !by.resource_subscriptions.contains(uri))
    });
    let joining = Joining {
        session: Box::default(),
        past,
        denied,
    };
    Ok(Stream::resuming(stream, joining))
}

impl Exchange {
    fn refused(&self, reason: Reason) -> JsValue {
        object(&Answer::from(self.core.refuse(reason)))
    }
}

impl From<exchange::Exchange> for Exchange {
    fn from(core: exchange::Exchange) -> Self {
        Self {
            core,
            accepted: None,
            legacy: None,
        }
    }
}

fn step_of(request: &LegacyRequest) -> Step {
    Step::Legacy {
        session: request.session.as_deref().map(str::to_owned),
        call: match request.call {
            Call::Initialize => "initialize",
            Call::Initialized => "initialized",
            Call::Ping => "ping",
            Call::Subscribe(_) => "subscribe",
            Call::Unsubscribe(_) => "unsubscribe",
            Call::Invalid(_) => "invalid",
            Call::Open { .. } => "open",
            Call::End => "end",
            Call::Other => "other",
        },
        uri: match &request.call {
            Call::Subscribe(uri) | Call::Unsubscribe(uri) => Some(uri.to_string()),
            _ => None,
        },
        last_event_id: match &request.call {
            Call::Open { last_event_id } => last_event_id.as_deref().map(str::to_owned),
            _ => None,
        },
    }
}

fn out_of_place() -> JsValue {
    coded("out-of-place", "the request is no listen")
}
