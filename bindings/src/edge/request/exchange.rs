use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{capabilities::Capabilities, exchange, scope::Scope, session::Reply};

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
  /** Reserve room for its stream, by its `names`, then call `handleAdmitted`, or refuse it. */
  | { kind: 'admit' }
  /** Find out what the MCP server offers, then call `handleDiscovered`, or refuse it. */
  | { kind: 'discover' }
  /** Open its stream with `open`, or refuse it. */
  | { kind: 'open' }
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
pub struct Exchange(exchange::Exchange);

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
    Initialize,
    Ask { question: String },
    Authorize { requested: String },
    Send { upstream_id: Option<String> },
    Forward,
    Admit,
    Discover,
    Open,
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
        object(&self.0.fields())
    }

    /// Returns the next step: the same one until it is done.
    #[wasm_bindgen(unchecked_return_type = "Step")]
    pub fn poll(&mut self) -> JsValue {
        let step = match self.0.poll() {
            exchange::Step::Respond(response) => Step::Respond {
                response: response.into(),
            },
            exchange::Step::Body { max_bytes } => Step::Body { max_bytes },
            exchange::Step::Caller => Step::Caller,
            exchange::Step::Session => Step::Session,
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
            exchange::Step::Admit => Step::Admit,
            exchange::Step::Discover => Step::Discover,
            exchange::Step::Open => Step::Open,
            exchange::Step::Pass { withholds } => Step::Pass { withholds },
            _ => return JsValue::UNDEFINED,
        };
        object(&step)
    }

    /// Handles the body; one over the limit may be truncated anywhere beyond it.
    #[wasm_bindgen(js_name = handleBody)]
    pub fn handle_body(&mut self, body: Vec<u8>) {
        self.0.handle_body(body);
    }

    /// Handles the caller's name; undefined if it has none, or needs none.
    #[wasm_bindgen(js_name = handleCaller)]
    pub fn handle_caller(&mut self, principal: Option<String>) {
        self.0.handle_caller(principal.as_deref());
    }

    /// Records that a session may have the id that the request names.
    #[wasm_bindgen(js_name = handleSession)]
    pub fn handle_session(&mut self) {
        self.0.handle_session();
    }

    /// Handles the reply of the session, JSON text. Throws if it is not valid.
    #[wasm_bindgen(js_name = handleReply)]
    pub fn handle_reply(&mut self, reply: &str) -> Result<(), JsValue> {
        let reply = Reply::from_json(reply);
        self.0
            .handle_reply(reply.ok_or_else(|| malformed("the reply of a session"))?);
        Ok(())
    }

    /// Handles the part of the requested filter that is granted, JSON text; undefined grants all of
    /// it. Throws if it is not valid.
    #[wasm_bindgen(js_name = handlePermit)]
    pub fn handle_permit(&mut self, permit: Option<String>) -> Result<(), JsValue> {
        self.0
            .handle_permit(permit.as_deref().map(filter_of).transpose()?);
        Ok(())
    }

    /// Handles the HTTP status of the MCP server's response.
    #[wasm_bindgen(js_name = handleStatus)]
    pub fn handle_status(&mut self, status: u16) {
        self.0.handle_status(status);
    }

    /// Returns the refusal of this request.
    #[wasm_bindgen(unchecked_return_type = "HttpResponse")]
    pub fn refuse(&self, refusal: Refusal) -> JsValue {
        object(&HttpResponse::from(self.0.refuse(refusal.reason())))
    }

    /// Returns the budget bytes of the names of its stream and of its caller's `scope`, which is
    /// JSON text.
    pub fn names(&self, scope: &str) -> usize {
        self.0.names(Scope::from_json(scope).unwrap_or_default())
    }

    /// Records that there is room for its stream.
    #[wasm_bindgen(js_name = handleAdmitted)]
    pub fn handle_admitted(&mut self) {
        self.0.handle_admitted();
    }

    /// Handles what the MCP server offers.
    #[wasm_bindgen(js_name = handleDiscovered)]
    pub fn handle_discovered(&mut self, discovered: &Discovered) {
        self.0.handle_discovered(discovered.0.clone());
    }

    /// Creates its stream. `scope` is JSON text with the groups of the caller in `groups`, and its
    /// name in `principals`; throws if one of them is not valid. `keepAliveMs` is the interval of
    /// keep-alives; 0 disables them. Events and notifications are counted in `metrics`.
    pub fn open(
        &mut self,
        scope: &str,
        #[wasm_bindgen(js_name = keepAliveMs)] keep_alive_ms: f64,
        now: f64,
        metrics: &StreamMetrics,
    ) -> Result<Stream, JsValue> {
        let opened = self.0.open(millis(keep_alive_ms), millis(now));
        let (mut stream, start) =
            opened.ok_or_else(|| out_of_place("the request opens no stream"))?;
        stream.scope_to(scope_of(scope)?);
        stream.count_in(metrics.0.clone());
        Ok(Stream {
            start,
            ..stream.into()
        })
    }

    /// Returns the response to `initialize`, derived from the body of the handler's response.
    /// `known`, as JSON text, replaces its notification capabilities. Undefined if the handler gave
    /// no result.
    #[wasm_bindgen(unchecked_return_type = "LegacyInitialized | undefined")]
    pub fn initialized(&self, body: &[u8], known: Option<String>) -> JsValue {
        let known = known.as_deref().map(Capabilities::from_json);
        let initialized = self.0.initialized(body, known);
        optional(initialized.map(|initialized| Initialized {
            response: initialized.response,
            capabilities: initialized.capabilities.to_json(),
        }))
    }
}

impl From<exchange::Exchange> for Exchange {
    fn from(core: exchange::Exchange) -> Self {
        Self(core)
    }
}
