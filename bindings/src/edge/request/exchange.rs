use std::rc::Rc;

use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{exchange, scope::Scope, session::Reply};

use crate::{
    edge::{
        options::filter_of,
        streams::{reauthorization::scope_of, stream::Stream},
    },
    error::{malformed, out_of_place},
    number::millis,
    object::{object, optional},
    response::HttpResponse,
};

use super::{
    discovered::{capabilities_of, declared},
    refusal::Refusal,
    shared::Shared,
};

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
   * Find out whether a session may have the id that it names, then call `confirm`, or refuse it.
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
  /** Reserve room for its stream, by its `names`, then call `confirm`, or refuse it. */
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
pub struct Exchange {
    core: exchange::Exchange,
    shared: Rc<Shared>,
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
        self.core.handle_body(body);
    }

    /// Handles the caller's name; undefined if it has none, or needs none.
    #[wasm_bindgen(js_name = handleCaller)]
    pub fn handle_caller(&mut self, principal: Option<String>) {
        self.core.handle_caller(principal.as_deref());
    }

    /// Confirms what a step `session` or `admit` asks: that a session may have the id, or that
    /// there is room for the stream. Has no effect on other steps.
    pub fn confirm(&mut self) {
        let step = self.core.poll();
        if matches!(step, exchange::Step::Session) {
            self.core.handle_session();
        } else if matches!(step, exchange::Step::Admit) {
            self.core.handle_admitted();
        }
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
        object(&HttpResponse::from(self.core.refuse(refusal.reason())))
    }

    /// Returns the budget bytes of the names of its stream and of its caller's `scope`, which is
    /// JSON text.
    pub fn names(&self, scope: &str) -> usize {
        self.core.names(Scope::from_json(scope).unwrap_or_default())
    }

    /// Handles what the MCP server has declared, as in `Discovered`.
    #[wasm_bindgen(js_name = handleDiscovered)]
    pub fn handle_discovered(
        &mut self,
        offers: u32,
        #[wasm_bindgen(js_name = serverInfo)] server_info: Option<String>,
    ) {
        let server_info = server_info.map(|text| self.shared.server_info(&text));
        self.core.handle_discovered(declared(offers, server_info));
    }

    /// Creates its stream. `scope` is JSON text with the groups of the caller in `groups`, and its
    /// name in `principals`; throws if one of them is not valid. `keepAliveMs` is the interval of
    /// keep-alives; 0 disables them. The service counts events and notifications.
    pub fn open(
        &mut self,
        scope: &str,
        #[wasm_bindgen(js_name = keepAliveMs)] keep_alive_ms: f64,
        now: f64,
    ) -> Result<Stream, JsValue> {
        let opened = self.core.open(millis(keep_alive_ms), millis(now));
        let (mut stream, start) =
            opened.ok_or_else(|| out_of_place("the request opens no stream"))?;
        stream.scope_to(scope_of(scope)?);
        stream.count_in(self.shared.metrics.clone());
        Ok(Stream {
            start,
            ..stream.into()
        })
    }

    /// Returns the response to `initialize`, derived from the body of the handler's response.
    /// `offers`, as in `Discovered`, replace its notification capabilities. Undefined if the
    /// handler gave no result.
    #[wasm_bindgen(unchecked_return_type = "LegacyInitialized | undefined")]
    pub fn initialized(&self, body: &[u8], offers: Option<u32>) -> JsValue {
        let known = offers.map(capabilities_of);
        let initialized = self.core.initialized(body, known);
        optional(initialized.map(|initialized| Initialized {
            response: initialized.response,
            capabilities: initialized.capabilities.to_json(),
        }))
    }
}

impl Exchange {
    pub(super) fn new(core: exchange::Exchange, shared: Rc<Shared>) -> Self {
        Self { core, shared }
    }
}
