use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::Capabilities,
    error::{self, Reason},
    filter::SubscriptionFilter,
    isolate::Joining,
    legacy::{self, Call, event_id},
    listen::{Headers, ServerStream, Stamp},
    message,
    upstream::Past,
};

use crate::{number::millis, object::optional, text::uris_of};

use super::{
    accept::{Acceptor, Refusal, Rejection, filter_of},
    stream::Stream,
};

/// What became of one request that is no listen; at most one of `request` and `rejection` is there.
#[wasm_bindgen]
pub struct LegacyVerdict(legacy::Verdict);

/// A request of an earlier revision.
#[wasm_bindgen]
pub struct LegacyRequest(legacy::LegacyRequest);

/// What a request of an earlier revision asks for.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum LegacyCall {
    /// A new session.
    Initialize,
    /// The session is in use.
    Initialized,
    /// A sign of life.
    Ping,
    /// Updates of one resource.
    Subscribe,
    /// No more of them.
    Unsubscribe,
    /// One of the two, with bad parameters.
    Invalid,
    /// The session's stream.
    Open,
    /// The session is over.
    End,
    /// Something for the handler behind.
    Other,
}

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The answer to `initialize`, and what the session was told that it is notified about, as JSON texts. */
export interface LegacyInitialized {
  answer: string;
  capabilities: string;
}
";

#[derive(Serialize)]
struct LegacyInitialized {
    answer: String,
    capabilities: String,
}

#[wasm_bindgen]
impl Acceptor {
    /// Judges a request that is no listen; a body over the limit may be cut off anywhere beyond it.
    #[wasm_bindgen(js_name = judgeLegacy)]
    pub fn judge_legacy(&self, method: &str, headers: &str, body: &[u8]) -> LegacyVerdict {
        let headers = Headers::new(headers);
        LegacyVerdict(legacy::judge(method, &headers, body, &self.limits))
    }
}

#[wasm_bindgen]
impl LegacyVerdict {
    /// The request, if it is one of an earlier revision.
    #[wasm_bindgen(getter)]
    pub fn request(&self) -> Option<LegacyRequest> {
        match &self.0 {
            legacy::Verdict::Legacy(request) => Some(LegacyRequest(request.clone())),
            _ => None,
        }
    }

    /// The answer, if no session can answer.
    #[wasm_bindgen(getter)]
    pub fn rejection(&self) -> Option<Rejection> {
        match &self.0 {
            legacy::Verdict::Rejected(rejection) => Some(Rejection(rejection.clone())),
            _ => None,
        }
    }
}

#[wasm_bindgen]
impl LegacyRequest {
    /// The id of its session.
    #[wasm_bindgen(getter)]
    pub fn session(&self) -> Option<String> {
        self.0.session.as_deref().map(str::to_owned)
    }

    /// What it asks for.
    #[wasm_bindgen(getter)]
    pub fn call(&self) -> LegacyCall {
        match self.0.call {
            Call::Initialize => LegacyCall::Initialize,
            Call::Initialized => LegacyCall::Initialized,
            Call::Ping => LegacyCall::Ping,
            Call::Subscribe(_) => LegacyCall::Subscribe,
            Call::Unsubscribe(_) => LegacyCall::Unsubscribe,
            Call::Invalid(_) => LegacyCall::Invalid,
            Call::Open { .. } => LegacyCall::Open,
            Call::End => LegacyCall::End,
            Call::Other => LegacyCall::Other,
        }
    }

    /// Whether its caller has to be named, because sessions have to do with it.
    #[wasm_bindgen(getter, js_name = isOfSessions)]
    pub fn is_of_sessions(&self) -> bool {
        self.0.is_of_sessions()
    }

    /// The URI to subscribe to, or no more.
    #[wasm_bindgen(getter)]
    pub fn uri(&self) -> Option<String> {
        match &self.0.call {
            Call::Subscribe(uri) | Call::Unsubscribe(uri) => Some(uri.to_string()),
            _ => None,
        }
    }

    /// The last event that the client has seen.
    #[wasm_bindgen(getter, js_name = lastEventId)]
    pub fn last_event_id(&self) -> Option<String> {
        match &self.0.call {
            Call::Open { last_event_id } => last_event_id.as_deref().map(str::to_owned),
            _ => None,
        }
    }

    /// The answer to `initialize`, made from the body of the handler's; `known` is what the server
    /// really notifies about, as JSON text. Undefined where the handler gave no result.
    #[wasm_bindgen(unchecked_return_type = "LegacyInitialized | undefined")]
    pub fn initialized(&self, body: &[u8], known: Option<String>) -> JsValue {
        let known = known.as_deref().map(Capabilities::from_json);
        let id = self.0.id.as_ref();
        let initialized = id.and_then(|id| legacy::initialized(id, body, known));
        optional(initialized.map(|initialized| LegacyInitialized {
            answer: initialized.answer,
            capabilities: initialized.capabilities.to_json(),
        }))
    }

    /// The empty result.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> Option<String> {
        self.0.id.as_ref().map(|id| message::result(id, "{}"))
    }

    /// The refusal of this request.
    pub fn refuse(&self, refusal: Refusal) -> Rejection {
        self.rejection(refusal.reason())
    }

    /// The refusal where its parameters are bad.
    #[wasm_bindgen(getter)]
    pub fn invalid(&self) -> Option<Rejection> {
        match &self.0.call {
            Call::Invalid(reason) => Some(self.rejection(reason.clone())),
            _ => None,
        }
    }

    /// The refusal where the session watches as many URIs as it may, or, with `isOfBytes`, as many bytes of them.
    #[wasm_bindgen(js_name = refuseUri)]
    pub fn refuse_uri(
        &self,
        limit: usize,
        #[wasm_bindgen(js_name = isOfBytes)] is_of_bytes: bool,
    ) -> Rejection {
        let what = if is_of_bytes {
            "Too many bytes of resource URIs"
        } else {
            "Too many resource URIs"
        };
        self.rejection(Reason::LimitExceeded { what, limit })
    }

    /// The refusal where no earlier revision is served.
    #[wasm_bindgen(js_name = refuseVersion)]
    pub fn refuse_version(&self) -> Rejection {
        self.rejection(Reason::UnsupportedVersion {
            requested: self.0.version.to_string(),
        })
    }

    /// The session's stream for the lists of `capabilities` that `authorized` names too (JSON
    /// texts; undefined: all of them), and for what the session watches, but those `watched` URIs that
    /// `authorized` does not name. It goes on from the event id `since`. Keep-alives every `keepAliveMs`; 0: none.
    pub fn open(
        &self,
        capabilities: &str,
        watched: Vec<String>,
        authorized: Option<String>,
        since: Option<String>,
        #[wasm_bindgen(js_name = keepAliveMs)] keep_alive_ms: f64,
        now: f64,
    ) -> Result<Stream, JsValue> {
        let capabilities = Capabilities::from_json(capabilities);
        let authorized = authorized.as_deref().map(filter_of).transpose()?;
        let lists =
            SubscriptionFilter::lists(capabilities).honored(capabilities, authorized.as_ref());
        let stream =
            ServerStream::with_stamp(Stamp::None, lists, millis(keep_alive_ms), millis(now));
        let past = since.map_or(Past::None, |id| {
            event_id::read(&id).map_or(Past::Unknown, Past::Since)
        });
        let mut denied = uris_of(&watched);
        denied.retain(|uri| {
            let by = authorized.as_ref();
            by.is_some_and(|by| !by.resource_subscriptions.contains(uri))
        });
        let session = Box::default();
        let joining = Joining {
            session,
            past,
            denied,
        };
        Ok(Stream::resuming(stream, joining))
    }
}

impl LegacyRequest {
    fn rejection(&self, reason: Reason) -> Rejection {
        Rejection(error::Rejection::new(reason, self.0.id.clone()))
    }
}

/// The filter for all lists of `capabilities`, as JSON texts.
#[wasm_bindgen(js_name = listsOf)]
pub fn lists_of(capabilities: &str) -> String {
    SubscriptionFilter::lists(Capabilities::from_json(capabilities)).to_json()
}

/// Whether `capabilities`, as JSON text, let resources be subscribed to.
#[wasm_bindgen(js_name = offersSubscribe)]
pub fn offers_subscribe(capabilities: &str) -> bool {
    Capabilities::from_json(capabilities).resources_subscribe
}
