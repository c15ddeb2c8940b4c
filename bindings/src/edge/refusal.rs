use wasm_bindgen::prelude::*;

use mcp_listen::error;

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
