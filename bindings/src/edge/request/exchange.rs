use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::Capabilities, error::Reason, exchange, filter::SubscriptionFilter,
    listen::Accepted, scope::Scope, session::Reply, topic::Topic,
};

use crate::{
    edge::{
        options::filter_of,
        streams::{reauthorization::scope_of, stream::Stream, stream_metrics::StreamMetrics},
    },
    error::coded,
    number::millis,
    object::{object, optional},
};

use super::{answer::Answer, discovered::Discovered, refusal::Refusal};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The next step for a request. */
export type Step =
  | { kind: 'answer'; answer: Answer }
  /** Read its body, up to this many bytes and a little more, then call `read`. */
  | { kind: 'body'; max: number }
  /** Authenticate its caller, then call `named`, or refuse it. */
  | { kind: 'caller' }
  /** Find out whether a session may have the id that it names, then call `known`, or refuse it. */
  | { kind: 'session' }
  /**
   * Find out which part of `requested` (a filter as JSON text) its caller may receive, and `open` a
   * stream for it.
   */
  | { kind: 'listen'; requested: string }
  /** Pass it to the MCP server, and begin a session from the answer: `initialized`. */
  | { kind: 'initialize' }
  /** Pass this question to its session, then call `answered`, or refuse it. */
  | { kind: 'ask'; question: string }
  /**
   * Find out which part of `requested` (a filter as JSON text) its caller may receive, then call
   * `answered`, or refuse it.
   */
  | { kind: 'authorize'; requested: string }
  /**
   * Pass it to the MCP server, in the session with this id there; undefined if it keeps none. Then
   * call `sent`.
   */
  | { kind: 'send'; upstreamId: string | undefined }
  /** Respond with the answer of the MCP server. */
  | { kind: 'forward' }
  /** Open the stream of its session with `openSession`, or refuse it. */
  | { kind: 'openSession' }
  /**
   * Pass it to the MCP server. If it `withholds`, remove the capabilities that are not served from
   * the answer.
   */
  | { kind: 'pass'; withholds: boolean };

/**
 * The response to `initialize`, and the notification capabilities that it advertises, as JSON
 * texts.
 */
export interface LegacyInitialized {
  answer: string;
  capabilities: string;
}
";

/// The processing of one request: the steps to take, in order, and the response.
#[wasm_bindgen]
pub struct Exchange {
    core: exchange::Exchange,
    accepted: Option<Accepted>,
    /// Whether the pending step is a question to a session, rather than an authorization.
    is_asking: bool,
}

#[derive(Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Step {
    Answer { answer: Answer },
    Body { max: usize },
    Caller,
    Session,
    Listen { requested: String },
    Initialize,
    Ask { question: String },
    Authorize { requested: String },
    Send { upstream_id: Option<String> },
    Forward,
    OpenSession,
    Pass { withholds: bool },
}

#[derive(Serialize)]
struct Initialized {
    answer: String,
    capabilities: String,
}

#[wasm_bindgen]
impl Exchange {
    /// Names and values of header fields to add to the response, including one of the MCP server.
    #[wasm_bindgen(getter, unchecked_return_type = "[string, string][]")]
    pub fn fields(&self) -> JsValue {
        object(&self.core.fields())
    }

    /// Returns the next step: the same one until it is done.
    #[wasm_bindgen(unchecked_return_type = "Step")]
    pub fn step(&mut self) -> JsValue {
        let step = self.core.poll();
        self.is_asking = matches!(step, exchange::Step::Ask(_));
        let step = match step {
            exchange::Step::Answer(answer) => Step::Answer {
                answer: answer.into(),
            },
            exchange::Step::Body { max_bytes } => Step::Body { max: max_bytes },
            exchange::Step::Caller => Step::Caller,
            exchange::Step::Session => Step::Session,
            exchange::Step::Listen(accepted) => {
                let requested = accepted.requested.to_json();
                self.accepted = Some(accepted);
                Step::Listen { requested }
            }
            exchange::Step::Initialize => Step::Initialize,
            exchange::Step::Ask(question) => Step::Ask {
                question: question.to_json(),
            },
            exchange::Step::Authorize { requested } => Step::Authorize {
                requested: requested.to_json(),
            },
            exchange::Step::Send { upstream_id } => Step::Send {
                upstream_id: upstream_id.map(String::from),
            },
            exchange::Step::Forward => Step::Forward,
            exchange::Step::OpenSession => Step::OpenSession,
            exchange::Step::Pass { withholds } => Step::Pass { withholds },
            _ => Step::Pass { withholds: false },
        };
        object(&step)
    }

    /// Passes the body; one over the limit may be truncated anywhere beyond it.
    pub fn read(&mut self, body: Vec<u8>) {
        self.core.handle_body(body);
    }

    /// Passes the caller's name; undefined if it has none, or needs none.
    pub fn named(&mut self, principal: Option<String>) {
        self.core.handle_caller(principal.as_deref());
    }

    /// Confirms that a session may have the id that the request names.
    pub fn known(&mut self) {
        self.core.handle_session();
    }

    /// Passes the answer to the pending step, as JSON text. For `ask`: the reply of the session.
    /// For `authorize`: the part of the requested filter that is granted, where undefined grants
    /// all of it. Throws if it is not valid.
    pub fn answered(&mut self, answer: Option<String>) -> Result<(), JsValue> {
        if self.is_asking {
            let reply = answer.as_deref().and_then(Reply::from_json);
            let malformed = || coded("malformed-session", "invalid session reply");
            self.core.handle_reply(reply.ok_or_else(malformed)?);
        } else {
            let permit = answer.as_deref().map(filter_of).transpose()?;
            self.core.handle_permit(permit);
        }
        Ok(())
    }

    /// Passes the HTTP status of the MCP server's response.
    pub fn sent(&mut self, status: u16) {
        self.core.handle_status(status);
    }

    /// Returns the refusal of this request.
    #[wasm_bindgen(unchecked_return_type = "Answer")]
    pub fn refuse(&self, refusal: Refusal) -> JsValue {
        self.refused(refusal.reason())
    }

    /// Returns the budget bytes of the names of a listen and of its caller's `scope`, which is JSON
    /// text.
    pub fn names(&self, scope: &str) -> usize {
        let Some(accepted) = &self.accepted else {
            return 0;
        };
        let filter = SubscriptionFilter {
            scope: Scope::from_json(scope).unwrap_or_default(),
            ..accepted.requested.clone()
        };
        filter.topics().iter().map(Topic::name_bytes).sum()
    }

    /// Creates the stream that answers a listen. It honors what the server advertises and
    /// `authorized` (JSON text of a filter; undefined: everything) names too. `scope` is JSON text
    /// with the groups of the caller in `groups`, and its name in `principals`; throws if one
    /// of them is not valid. `keepAliveMs` is the interval of keep-alives; 0 disables them. Events
    /// and notifications are counted in `metrics`.
    pub fn open(
        &self,
        discovered: &Discovered,
        authorized: Option<String>,
        scope: &str,
        #[wasm_bindgen(js_name = keepAliveMs)] keep_alive_ms: f64,
        now: f64,
        metrics: &StreamMetrics,
    ) -> Result<Stream, JsValue> {
        let accepted = self.accepted.as_ref().ok_or_else(out_of_place)?;
        let authorized = authorized.as_deref().map(filter_of).transpose()?;
        let (keep_alive, now) = (millis(keep_alive_ms), millis(now));
        let mut stream = accepted.open(&discovered.0, authorized.as_ref(), keep_alive, now);
        stream.scope_to(scope_of(scope)?);
        stream.count_in(metrics.0.clone());
        Ok(stream.into())
    }

    /// Returns the response to `initialize`, derived from the body of the handler's response.
    /// `known`, as JSON text, replaces its notification capabilities. Undefined if the handler gave
    /// no result.
    #[wasm_bindgen(unchecked_return_type = "LegacyInitialized | undefined")]
    pub fn initialized(&self, body: &[u8], known: Option<String>) -> JsValue {
        let known = known.as_deref().map(Capabilities::from_json);
        let initialized = self.core.initialized(body, known);
        optional(initialized.map(|initialized| Initialized {
            answer: initialized.answer,
            capabilities: initialized.capabilities.to_json(),
        }))
    }

    /// Returns the stream after `openSession`; the parameters are those of `open`.
    #[wasm_bindgen(js_name = openSession)]
    pub fn open_session(
        &self,
        scope: &str,
        #[wasm_bindgen(js_name = keepAliveMs)] keep_alive_ms: f64,
        now: f64,
        metrics: &StreamMetrics,
    ) -> Result<Stream, JsValue> {
        let opened = self.core.open_session(millis(keep_alive_ms), millis(now));
        let (mut stream, start) = opened.ok_or_else(out_of_place)?;
        stream.scope_to(scope_of(scope)?);
        stream.count_in(metrics.0.clone());
        Ok(Stream::resuming(stream, start))
    }
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
            is_asking: false,
        }
    }
}

fn out_of_place() -> JsValue {
    coded("out-of-place", "the request is not a listen")
}
