use wasm_bindgen::prelude::*;

use mcp_listen::error;

/// Reasons for a refusal that only the host can determine.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Refusal {
    /// 401: the caller is not authenticated.
    Unauthorized,
    /// 403: the caller is not allowed to listen.
    Forbidden,
    /// 503: the maximum number of streams of this isolate is reached.
    TooManyStreams,
    /// 429: the maximum number of streams of this caller is reached.
    TooManyOfCaller,
    /// 503: the authorizer failed.
    AuthorizerFailed,
    /// 503: the bus or the handler does not respond.
    Unavailable,
    /// 503: the server is shutting down.
    Closing,
    /// 404: the session does not exist.
    SessionNotFound,
    /// 503: the maximum number of sessions is reached.
    TooManySessions,
    /// 502: the upstream server cannot be reached.
    BadGateway,
    /// 504: the upstream server does not begin to respond in time.
    GatewayTimeout,
    /// 404: there is no upstream server with this name.
    UnknownServer,
    /// 408: the body did not arrive in time.
    BodyTimeout,
    /// 431: the header fields are larger than what an open stream may retain.
    HeadersTooLarge,
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
            Self::SessionNotFound => error::Reason::SessionNotFound,
            Self::TooManySessions => error::Reason::TooManySessions,
            Self::BadGateway => error::Reason::BadGateway,
            Self::GatewayTimeout => error::Reason::GatewayTimeout,
            Self::UnknownServer => error::Reason::UnknownServer,
            Self::BodyTimeout => error::Reason::BodyTimeout,
            Self::HeadersTooLarge => error::Reason::HeadersTooLarge,
        }
    }
}
