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
    error::{malformed, out_of_place},
    number::millis,
    object::{object, optional},
    response::HttpResponse,
};

use super::{discovered::Discovered, refusal::Refusal};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The next step for a request. */
export type Step =
  | { kind: 'respond'; response: HttpResponse }
  /** Read its body, up to this many bytes and a little more, then call `handleBody`. */
  | { kind: 'body'; maxBytes: number }
  /** Authenticate its caller, then call `handleCaller`, or refuse it. */
  | { kind: 'caller' }
  /**
   * Find out whether a session may have the id that it names, then call `handleSession`, or refuse
   * it.
   */
  | { kind: 'session' }
  /**
   * Find out which part of `requested` (a filter as JSON text) its caller may receive, and `open` a
   * stream for it.
   */
  | { kind: 'listen'; requested: string }
  /** Pass it to the MCP server, and begin a session from its response: `initialized`. */
  | { kind: 'initialize' }
  /** Pass this question to its session, then call `handleReply`, or refuse it. */
  | { kind: 'ask'; question: string }
  /**
   * Find out which part of `requested` (a filter as JSON text) its caller may receive, then call
   * `handlePermit`, or refuse it.
   */
  | { kind: 'authorize'; requested: string }
  /**
   * Pass it to the MCP server, in the session with this id there; undefined if it keeps none. Then
   * call `handleStatus`.
   */
  | { kind: 'send'; upstreamId: string | undefined }
  /** Respond with the response of the MCP server. */
  | { kind: 'forward' }
  /** Open the stream of its session with `openSession`, or refuse it. */
  | { kind: 'openSession' }
  /**
   * Pass it to the MCP server. If it `withholds`, remove the capabilities that are not served from
   * the response.
   */
  | { kind: 'pass'; withholds: boolean };

/**
 * The response to `initialize`, and the notification capabilities that it advertises, as JSON
 * texts.
 */
export interface LegacyInitialized {
  response: string;
  capabilities: string;
}
";

/// The processing of one request: the steps to take, in order, and the response.
#[wasm_bindgen]
pub struct Exchange {
    core: exchange::Exchange,
    accepted: Option<Accepted>,
}

#[derive(Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Step {
    Respond { response: HttpResponse },
    Body { max_bytes: usize },
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
    response: String,
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
    pub fn poll(&mut self) -> JsValue {
        let step = match self.core.poll() {
            exchange::Step::Respond(response) => Step::Respond {
                response: response.into(),
            },
            exchange::Step::Body { max_bytes } => Step::Body { max_bytes },
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
            _ => return JsValue::UNDEFINED,
        };
        object(&step)
    }

    /// Handles the body; one over the limit may be truncated anywhere beyond it.
    #[wasm_bindgen(js_name = handleBody)]
    pub fn handle_body(&mut self, body: Vec<u8>) {
        self.core.handle_body(body);
    }

    /// Handles the caller's name; undefined if it has none, or needs none.
    #[wasm_bindgen(js_name = handleCaller)]
    pub fn handle_caller(&mut self, principal: Option<String>) {
        self.core.handle_caller(principal.as_deref());
    }

    /// Records that a session may have the id that the request names.
    #[wasm_bindgen(js_name = handleSession)]
    pub fn handle_session(&mut self) {
        self.core.handle_session();
    }

    /// Handles the reply of the session, JSON text. Throws if it is not valid.
    #[wasm_bindgen(js_name = handleReply)]
    pub fn handle_reply(&mut self, reply: &str) -> Result<(), JsValue> {
        let reply = Reply::from_json(reply);
        self.core
            .handle_reply(reply.ok_or_else(|| malformed("the reply of a session"))?);
        Ok(())
    }

    /// Handles the part of the requested filter that is granted, JSON text; undefined grants all of
    /// it. Throws if it is not valid.
    #[wasm_bindgen(js_name = handlePermit)]
    pub fn handle_permit(&mut self, permit: Option<String>) -> Result<(), JsValue> {
        self.core
            .handle_permit(permit.as_deref().map(filter_of).transpose()?);
        Ok(())
    }

    /// Handles the HTTP status of the MCP server's response.
    #[wasm_bindgen(js_name = handleStatus)]
    pub fn handle_status(&mut self, status: u16) {
        self.core.handle_status(status);
    }

    /// Returns the refusal of this request.
    #[wasm_bindgen(unchecked_return_type = "HttpResponse")]
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

    /// Creates the stream of a listen. It honors what the server advertises and
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
        let accepted = self.accepted.as_ref().ok_or_else(not_a_stream)?;
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
            response: initialized.response,
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
        let (mut stream, start) = opened.ok_or_else(not_a_stream)?;
        stream.scope_to(scope_of(scope)?);
        stream.count_in(metrics.0.clone());
        Ok(Stream::resuming(stream, start))
    }
}

impl Exchange {
    fn refused(&self, reason: Reason) -> JsValue {
        object(&HttpResponse::from(self.core.refuse(reason)))
    }
}

impl From<exchange::Exchange> for Exchange {
    fn from(core: exchange::Exchange) -> Self {
        Self {
            core,
            accepted: None,
        }
    }
}

fn not_a_stream() -> JsValue {
    out_of_place("the request opens no stream")
}
