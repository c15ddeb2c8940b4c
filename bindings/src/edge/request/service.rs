use std::{rc::Rc, sync::Arc};

use serde::Deserialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    exchange::{self, LegacyMode, SessionRules},
    http::Policy,
    json,
    limits::Limits,
    session,
    uri::Uri,
};

use crate::{edge::options::limits_of, error::coded, object::object, response::HttpResponse};

use super::{exchange::Exchange, refusal::Refusal, shared::Shared};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** Limits of a session store: whole numbers below 2^32, each the largest accepted value. */
export interface SessionLimits {
  /** Sessions of all callers. */
  sessions: number;
  /** Sessions of unnamed callers. */
  unnamedSessions: number;
  /** Sessions of one named caller, or of one address. */
  sessionsPerPrincipal: number;
  /** Resources that one session watches. */
  uris: number;
  /** Bytes of the URIs of one session, plus 64 for each URI. */
  sessionUriBytes: number;
  /** Bytes of the URIs of all sessions, plus 64 for each URI. */
  busUriBytes: number;
  /** Bytes of the URIs of the sessions of unnamed callers, plus 64 for each URI. */
  unnamedUriBytes: number;
}

/** The options of all requests of a server. */
export interface ServiceOptions {
  /** Origins of pages that may send requests, one per line. */
  origins: string;
  /** Hosts that requests may address, one per line; undefined: every host except a rebound one. */
  hosts: string | undefined;
  /**
   * JSON text of an object with any of bodyBytes, depth, idBytes, uris, uriBytes, taskIds,
   * taskIdBytes.
   */
  limits: string | undefined;
  /** If false, every request that needs a stream is refused. */
  holdsStreams: boolean;
  /**
   * How requests of revisions before 2026-07-28 are handled: the MCP server handles them, they are
   * rejected, or their sessions are kept here. `authorizes`: whether `authorize` narrows what each
   * caller may receive.
   */
  legacy: 'stateless' | 'reject' | { sessions: { limits: SessionLimits; authorizes: boolean } };
}
";

/// The options and state shared by all requests of a server.
#[wasm_bindgen]
pub struct Service {
    core: Arc<exchange::Service>,
    shared: Rc<Shared>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    origins: String,
    hosts: Option<String>,
    limits: Option<String>,
    holds_streams: bool,
    legacy: LegacyOption,
}

#[derive(Clone, Copy, Deserialize)]
struct Rules {
    limits: session::SessionLimits,
    authorizes: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum LegacyOption {
    Stateless,
    Sessions(Rules),
    Reject,
}

#[wasm_bindgen]
impl Service {
    /// `options`: the JSON text of a `ServiceOptions`. Throws with a `code` if one of them is not
    /// valid.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str) -> Result<Self, JsValue> {
        let options: Options = json::from_text(options)
            .ok_or_else(|| coded("invalid-options", "the options are not valid"))?;
        let policy = Policy::new(&options.origins, options.hosts.as_deref())
            .map_err(|error| coded("invalid-options", &error.to_string()))?;
        let limits = limits_of(options.limits)?;
        let mut service = exchange::Service::new(policy, limits, options.legacy.into());
        if !options.holds_streams {
            service = service.without_streams();
        }
        Ok(Self {
            core: Arc::new(service),
            shared: Rc::default(),
        })
    }

    /// Creates the exchange of a request; `isReadable` says that its body has not been read yet.
    pub fn exchange(
        &self,
        method: &str,
        url: &str,
        headers: &str,
        #[wasm_bindgen(js_name = isReadable)] is_readable: bool,
    ) -> Exchange {
        let service = self.core.clone();
        let core = exchange::Exchange::new(service, method, url, headers, is_readable);
        Exchange::new(core, self.shared.clone())
    }

    /// Creates the exchange of a stream that the server itself reads, of the updates of this
    /// resource. Undefined if `uri` is not valid.
    #[wasm_bindgen(js_name = exchangeOf)]
    pub fn exchange_of(&self, uri: &str) -> Option<Exchange> {
        let uri = Uri::new(uri, Limits::default().uri_bytes).ok()?;
        let core = exchange::Exchange::of_resource(self.core.clone(), uri);
        Some(Exchange::new(core, self.shared.clone()))
    }

    /// The counters of its streams: events; notifications written; events that collapsed; the sum
    /// of the write delays of notifications, in milliseconds; then the number of notifications by
    /// write delay: up to 5, 20, 100, 500, 2,000, 10,000 ms, and longer.
    #[wasm_bindgen(getter)]
    pub fn counts(&self) -> Vec<f64> {
        self.shared.counts()
    }
}

/// Returns the refusal of a request about which nothing is known.
#[wasm_bindgen(js_name = refusalOf, unchecked_return_type = "HttpResponse")]
pub fn refusal_of(refusal: Refusal) -> JsValue {
    object(&HttpResponse::from(exchange::Service::refuse(
        refusal.reason(),
    )))
}

impl From<LegacyOption> for LegacyMode {
    fn from(option: LegacyOption) -> Self {
        match option {
            LegacyOption::Stateless => Self::Stateless,
            LegacyOption::Sessions(Rules { limits, authorizes }) => {
                Self::Sessions(SessionRules { limits, authorizes })
            }
            LegacyOption::Reject => Self::Reject,
        }
    }
}
