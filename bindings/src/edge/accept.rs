use wasm_bindgen::prelude::*;

use mcp_listen::{
    error,
    filter::{FilterError, SubscriptionFilter},
    limits::Limits,
    listen::{self, Headers},
    message, off,
    scope::Scope,
    topic::Topic,
};

use crate::{error::coded, number::millis};

use super::{discovered::Discovered, grant::scope_of, stream::Stream, tally::Tally};

/// Judges HTTP requests; made once, with the limits.
#[wasm_bindgen]
pub struct Acceptor {
    pub(crate) limits: Limits,
}

/// What is known of one request before its caller is named.
#[wasm_bindgen]
pub struct Claim {
    claim: listen::Claim,
    body: Vec<u8>,
}

/// What became of one listen request; at most one of `accepted` and `rejection` is there to take.
#[wasm_bindgen]
pub struct Verdict(listen::Verdict);

/// What becomes of one request where no streams are held.
#[wasm_bindgen]
pub struct OffVerdict(off::Verdict);

/// A well-formed listen request.
#[wasm_bindgen]
pub struct Accepted(pub(crate) listen::Accepted);

/// A refusal as it goes on the wire.
#[wasm_bindgen]
pub struct Rejection(pub(crate) error::Rejection);

/// Reasons to refuse that only the host can know.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Refusal {
    /// 401: the caller did not say who it is.
    Unauthorized,
    /// 403: the caller may not listen.
    Forbidden,
    /// 503: this isolate holds as many streams as it may.
    TooManyStreams,
    /// 429: the caller holds as many streams here as it may.
    TooManyOfCaller,
    /// 503: the caller's rights could not be established.
    AuthorizerFailed,
    /// 503: the bus or the handler does not answer.
    Unavailable,
    /// 503: shutting down.
    Closing,
    /// 404: the server does not offer the method.
    MethodNotFound,
    /// 404: no such session.
    SessionNotFound,
    /// 409: the session has a stream already.
    StreamTaken,
    /// 503: no more sessions.
    TooManySessions,
    /// 400: the request needs a session.
    SessionMissing,
    /// 400: the session has been initialized.
    SecondInitialize,
    /// 502: the server behind cannot be reached.
    BadGateway,
    /// 504: the server behind does not begin to answer.
    GatewayTimeout,
    /// 404: there is no server of this name.
    UnknownServer,
    /// 408: the body did not arrive in time.
    BodyTimeout,
    /// 431: the header fields are larger than what an open stream may keep.
    HeadersTooLarge,
}

#[wasm_bindgen]
impl Acceptor {
    /// `limits`: JSON text of an object with any of bodyBytes, depth, idBytes, uris, uriBytes, taskIds, taskIdBytes; or undefined.
    #[wasm_bindgen(constructor)]
    pub fn new(limits: Option<String>) -> Result<Self, JsValue> {
        limits_of(limits).map(|limits| Self { limits })
    }

    /// Whether the request may be a listen and has to be judged; `headers` are lines `name: value`.
    #[wasm_bindgen(js_name = mayBeListen)]
    pub fn may_be_listen(&self, method: &str, headers: &str) -> bool {
        listen::may_be_listen(method, &Headers::new(headers), &self.limits)
    }

    /// Whether the header fields alone call the request a listen: its caller is named before its body is read.
    #[wasm_bindgen(js_name = claimsByHeader)]
    pub fn claims_by_header(&self, headers: &str) -> bool {
        listen::claims_by_header(&Headers::new(headers))
    }

    /// The largest body of a listen request, in bytes.
    #[wasm_bindgen(getter, js_name = bodyBytes)]
    pub fn body_bytes(&self) -> usize {
        self.limits.body_bytes
    }

    /// The largest number of resource URIs that one stream or session names.
    #[wasm_bindgen(getter)]
    pub fn uris(&self) -> usize {
        self.limits.uris
    }

    /// Judges a request as far as HTTP alone decides; a body over the limit may be cut off anywhere beyond it.
    pub fn claim(&self, method: &str, headers: &str, body: Vec<u8>) -> Claim {
        let claim = listen::claim(method, &Headers::new(headers), &body, &self.limits);
        Claim { claim, body }
    }

    /// Judges a listen request to its end, once its caller has been named.
    pub fn judge(&self, headers: &str, claim: Claim) -> Verdict {
        Verdict(match claim.claim {
            listen::Claim::Unread => {
                listen::judge(&Headers::new(headers), &claim.body, &self.limits)
            }
            listen::Claim::Read(verdict) => verdict,
            listen::Claim::Rejected(rejection) => listen::Verdict::Rejected(rejection),
            listen::Claim::NotOurs => listen::Verdict::NotOurs,
        })
    }

    /// The refusal of a request whose body nobody has read.
    pub fn refuse(&self, refusal: Refusal) -> Rejection {
        Rejection(error::Rejection::new(refusal.reason(), None))
    }
}

#[wasm_bindgen]
impl Acceptor {
    /// Judges a request where no streams are held; a body over the limit may be cut off anywhere beyond it.
    #[wasm_bindgen(js_name = judgeOff)]
    pub fn judge_off(&self, method: &str, headers: &str, body: &[u8]) -> OffVerdict {
        OffVerdict(off::judge(
            method,
            &Headers::new(headers),
            body,
            &self.limits,
        ))
    }
}

#[wasm_bindgen]
impl OffVerdict {
    /// The answer, if the request is refused.
    #[wasm_bindgen(getter)]
    pub fn rejection(&self) -> Option<Rejection> {
        match &self.0 {
            off::Verdict::Listen(rejection) | off::Verdict::Watch(rejection) => {
                Some(Rejection(rejection.clone()))
            }
            off::Verdict::Capabilities | off::Verdict::NotOurs => None,
        }
    }

    /// Whether the answer has the status 200, and not that of the rejection.
    #[wasm_bindgen(getter, js_name = isInBand)]
    pub fn is_in_band(&self) -> bool {
        matches!(self.0, off::Verdict::Watch(_))
    }

    /// Whether the server behind answers with its capabilities, which `withheldAnswer` changes.
    #[wasm_bindgen(getter, js_name = namesCapabilities)]
    pub fn names_capabilities(&self) -> bool {
        self.0 == off::Verdict::Capabilities
    }
}

#[wasm_bindgen]
impl Claim {
    /// Whether it is a listen request, and nothing speaks against it yet.
    #[wasm_bindgen(getter, js_name = isListen)]
    pub fn is_listen(&self) -> bool {
        matches!(self.claim, listen::Claim::Unread | listen::Claim::Read(_))
    }

    /// The answer, if it is a listen request that HTTP alone refuses.
    #[wasm_bindgen(getter)]
    pub fn rejection(&self) -> Option<Rejection> {
        match &self.claim {
            listen::Claim::Rejected(rejection) => Some(Rejection(rejection.clone())),
            _ => None,
        }
    }
}

#[wasm_bindgen]
impl Verdict {
    /// The listen request, if it can be served.
    #[wasm_bindgen(getter)]
    pub fn accepted(&self) -> Option<Accepted> {
        match &self.0 {
            listen::Verdict::Accepted(accepted) => Some(Accepted(accepted.clone())),
            _ => None,
        }
    }

    /// The answer, if it is a listen request that cannot be served.
    #[wasm_bindgen(getter)]
    pub fn rejection(&self) -> Option<Rejection> {
        match &self.0 {
            listen::Verdict::Rejected(rejection) => Some(Rejection(rejection.clone())),
            _ => None,
        }
    }
}

#[wasm_bindgen]
impl Accepted {
    /// What the client asks to hear, as JSON text.
    #[wasm_bindgen(getter)]
    pub fn requested(&self) -> String {
        self.0.requested.to_json()
    }

    /// Bytes that its names count, and those of its caller's `scope`, which is JSON text.
    pub fn names(&self, scope: &str) -> usize {
        let filter = SubscriptionFilter {
            scope: Scope::from_json(scope).unwrap_or_default(),
            ..self.0.requested.clone()
        };
        filter.topics().iter().map(Topic::names).sum()
    }

    /// The refusal of this request.
    pub fn refuse(&self, refusal: Refusal) -> Rejection {
        Rejection(error::Rejection::new(
            refusal.reason(),
            Some(self.0.id.clone()),
        ))
    }

    /// The stream that answers it: what is honored is what the server advertises and `authorized` (JSON
    /// text of a filter; undefined: everything) names too. `scope` is what the caller hears of what is not for everybody, as JSON text:
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
        let authorized = authorized.as_deref().map(filter_of).transpose()?;
        let keep_alive = millis(keep_alive_ms);
        let stream = self
            .0
            .open(&discovered.0, authorized.as_ref(), keep_alive, millis(now));
        let mut stream = stream;
        stream.scope_to(scope_of(scope)?);
        stream.count_in(tally.0.clone());
        Ok(stream.into())
    }
}

impl Refusal {
    pub(crate) fn reason(self) -> error::Reason {
        match self {
            Self::Unauthorized => error::Reason::Unauthorized,
            Self::Forbidden => error::Reason::Forbidden,
            Self::TooManyStreams => error::Reason::TooManyStreams,
            Self::TooManyOfCaller => error::Reason::TooManyOfCaller,
            Self::AuthorizerFailed => error::Reason::AuthorizerFailed,
            Self::Unavailable => error::Reason::Unavailable,
            Self::Closing => error::Reason::Closing,
            Self::MethodNotFound => error::Reason::MethodNotFound,
            Self::SessionNotFound => error::Reason::SessionNotFound,
            Self::StreamTaken => error::Reason::StreamTaken,
            Self::TooManySessions => error::Reason::TooManySessions,
            Self::SessionMissing => {
                error::Reason::InvalidRequest("The Mcp-Session-Id header is missing")
            }
            Self::SecondInitialize => {
                error::Reason::InvalidRequest("This session is initialized already")
            }
            Self::BadGateway => error::Reason::BadGateway,
            Self::GatewayTimeout => error::Reason::GatewayTimeout,
            Self::UnknownServer => error::Reason::UnknownServer,
            Self::BodyTimeout => error::Reason::BodyTimeout,
            Self::HeadersTooLarge => error::Reason::HeadersTooLarge,
        }
    }
}

#[wasm_bindgen]
impl Rejection {
    /// HTTP status.
    #[wasm_bindgen(getter)]
    pub fn status(&self) -> u16 {
        self.0.reason.status()
    }

    /// A stable name of the reason.
    #[wasm_bindgen(getter)]
    pub fn code(&self) -> String {
        self.0.reason.code().to_owned()
    }

    /// Which kind of refusal it counts as.
    #[wasm_bindgen(getter)]
    pub fn kind(&self) -> String {
        self.0.reason.kind().to_owned()
    }

    /// Whether HTTP alone decides it, before the caller is named.
    #[wasm_bindgen(getter, js_name = isOfHttp)]
    pub fn is_of_http(&self) -> bool {
        self.0.reason.is_of_http()
    }

    /// Seconds for `Retry-After`, if a later attempt makes sense.
    #[wasm_bindgen(getter, js_name = retryAfter)]
    pub fn retry_after(&self) -> Option<u32> {
        self.0.reason.retry_after()
    }

    /// The JSON-RPC error.
    #[wasm_bindgen(getter)]
    pub fn body(&self) -> String {
        message::error(&self.0)
    }
}

pub(crate) fn limits_of(limits: Option<String>) -> Result<Limits, JsValue> {
    limits.map_or_else(
        || Ok(Limits::default()),
        |text| {
            Limits::from_json(&text)
                .ok_or_else(|| coded("invalid-options", "each limit must be a whole number"))
        },
    )
}

/// An authorizer's answer; its size is the host's own affair.
pub(crate) fn filter_of(text: &str) -> Result<SubscriptionFilter, JsValue> {
    read_filter(text).map_err(|error| coded("invalid-filter", &error.to_string()))
}

/// As [`filter_of`], with an error of the core.
pub(crate) fn read_filter(text: &str) -> Result<SubscriptionFilter, FilterError> {
    let limits = Limits {
        uris: usize::MAX,
        task_ids: usize::MAX,
        ..Limits::default()
    };
    SubscriptionFilter::from_json(text, &limits)
}
