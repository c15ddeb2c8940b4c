//! Refusals: what a client is told when its listen request is not served.

use alloc::string::String;
use core::fmt;

use crate::vocabulary::id::RequestId;

/// A refused request: what is wrong, and whose request it was where its id could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// What is wrong.
    pub reason: Reason,
    /// The id of the refused request; `None` where it could not be read.
    pub id: Option<RequestId>,
}

/// Why a listen request is refused. Each reason has one HTTP status, one JSON-RPC
/// code and one fixed text; nothing of the input is echoed but the id and the version asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The HTTP method is none of this endpoint's.
    MethodNotAllowed,
    /// The request was meant for another host.
    ForbiddenHost,
    /// The page that asks is of an origin that is not served.
    ForbiddenOrigin,
    /// The body is declared as something other than plain UTF-8 JSON.
    UnsupportedMediaType,
    /// The client does not take an event stream.
    NotAcceptable,
    /// The body is larger than allowed.
    BodyTooLarge,
    /// The body is not JSON.
    ParseError,
    /// The body is not one JSON-RPC 2.0 request with a usable id.
    InvalidRequest(&'static str),
    /// A routing header is missing or does not say what the body says.
    HeaderMismatch(&'static str),
    /// The protocol version asked for is not served here.
    UnsupportedVersion {
        /// The version as the client asked for it.
        requested: String,
    },
    /// The filter needs an extension, here named, that the client has not declared.
    MissingExtension(&'static str),
    /// The parameters are not those of the method.
    InvalidParams(&'static str),
    /// The parameters exceed a limit.
    LimitExceeded {
        /// What is too large.
        what: &'static str,
        /// The largest value still accepted.
        limit: usize,
    },
    /// The server does not offer this method.
    MethodNotFound,
    /// There is no such session, or it is over, or it is another caller's.
    SessionNotFound,
    /// The session has a stream already.
    StreamTaken,
    /// As many sessions as may be are alive.
    TooManySessions,
    /// The caller did not say who it is, or not credibly.
    Unauthorized,
    /// The caller may not listen here.
    Forbidden,
    /// This isolate holds as many streams as it may.
    TooManyStreams,
    /// The caller holds as many streams here as it may.
    TooManyOfCaller,
    /// The rights of the caller could not be established.
    AuthorizerFailed,
    /// The bus, or the server behind, does not answer.
    Unavailable,
    /// This server is shutting down.
    Closing,
    /// The server behind a gateway cannot be reached, or answers nonsense.
    BadGateway,
    /// The server behind a gateway does not begin to answer.
    GatewayTimeout,
    /// A gateway has no server under this name.
    UnknownServer,
    /// The body did not arrive in time.
    BodyTimeout,
    /// The header fields are larger than what an open stream may keep of its request.
    HeadersTooLarge,
}

impl Rejection {
    /// Refuses the request `id` for `reason`.
    pub fn new(reason: Reason, id: Option<RequestId>) -> Self {
        Self { reason, id }
    }
}

impl Reason {
    /// The HTTP status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Self::Unauthorized => 401,
            Self::Forbidden | Self::ForbiddenHost | Self::ForbiddenOrigin => 403,
            Self::MethodNotFound | Self::SessionNotFound | Self::UnknownServer => 404,
            Self::BadGateway => 502,
            Self::GatewayTimeout => 504,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable => 406,
            Self::BodyTimeout => 408,
            Self::StreamTaken => 409,
            Self::BodyTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::TooManyOfCaller => 429,
            Self::HeadersTooLarge => 431,
            reason if reason.is_passing() => 503,
            _ => 400,
        }
    }

    /// The JSON-RPC error code of the answer (2026-07-28, Base protocol, Error Codes).
    pub fn json_rpc_code(&self) -> i32 {
        match self {
            Self::ParseError => -32_700,
            Self::HeaderMismatch(_) => -32_020,
            Self::MissingExtension(_) => -32_021,
            Self::MethodNotFound => -32_601,
            Self::SessionNotFound => -32_001,
            Self::UnsupportedVersion { .. } => -32_022,
            Self::InvalidParams(_) | Self::LimitExceeded { .. } => -32_602,
            reason if reason.is_passing() => -32_603,
            _ => -32_600,
        }
    }

    /// Whether HTTP alone decides it: such a refusal comes before the caller is named, all others after that.
    pub fn is_of_http(&self) -> bool {
        matches!(
            self,
            Self::MethodNotAllowed
                | Self::ForbiddenHost
                | Self::ForbiddenOrigin
                | Self::UnsupportedMediaType
                | Self::NotAcceptable
                | Self::BodyTooLarge
        )
    }

    /// Whether the same request may succeed a little later.
    fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::TooManyStreams
                | Self::TooManyOfCaller
                | Self::TooManySessions
                | Self::AuthorizerFailed
                | Self::Unavailable
                | Self::Closing
                | Self::BadGateway
                | Self::GatewayTimeout
        )
    }

    /// Which kind of refusal it counts as.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MethodNotAllowed
            | Self::UnsupportedMediaType
            | Self::NotAcceptable
            | Self::BodyTimeout => "http",
            Self::ForbiddenHost | Self::ForbiddenOrigin => "origin",
            Self::BodyTooLarge | Self::HeadersTooLarge | Self::LimitExceeded { .. } => "size",
            Self::ParseError
            | Self::InvalidRequest(_)
            | Self::HeaderMismatch(_)
            | Self::UnsupportedVersion { .. }
            | Self::MissingExtension(_)
            | Self::InvalidParams(_)
            | Self::MethodNotFound
            | Self::SessionNotFound
            | Self::StreamTaken
            | Self::UnknownServer => "request",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::TooManyStreams | Self::TooManyOfCaller | Self::TooManySessions => "full",
            Self::AuthorizerFailed
            | Self::Unavailable
            | Self::BadGateway
            | Self::GatewayTimeout => "unavailable",
            Self::Closing => "closing",
        }
    }

    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MethodNotAllowed => "method-not-allowed",
            Self::ForbiddenHost => "forbidden-host",
            Self::ForbiddenOrigin => "forbidden-origin",
            Self::UnsupportedMediaType => "unsupported-media-type",
            Self::NotAcceptable => "not-acceptable",
            Self::BodyTooLarge => "body-too-large",
            Self::ParseError => "parse-error",
            Self::InvalidRequest(_) => "invalid-request",
            Self::HeaderMismatch(_) => "header-mismatch",
            Self::UnsupportedVersion { .. } => "unsupported-version",
            Self::MissingExtension(_) => "missing-extension",
            Self::InvalidParams(_) => "invalid-params",
            Self::LimitExceeded { .. } => "limit-exceeded",
            Self::MethodNotFound => "method-not-found",
            Self::SessionNotFound => "session-not-found",
            Self::StreamTaken => "stream-taken",
            Self::TooManySessions => "too-many-sessions",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::TooManyStreams => "too-many-streams",
            Self::TooManyOfCaller => "too-many-streams-of-caller",
            Self::AuthorizerFailed => "authorizer-failed",
            Self::Unavailable => "unavailable",
            Self::Closing => "closing",
            Self::BadGateway => "bad-gateway",
            Self::GatewayTimeout => "gateway-timeout",
            Self::UnknownServer => "unknown-server",
            Self::BodyTimeout => "body-timeout",
            Self::HeadersTooLarge => "headers-too-large",
        }
    }

    /// Seconds after which a new attempt makes sense, for `Retry-After`; `None` where it makes none.
    pub fn retry_after(&self) -> Option<u32> {
        match self {
            reason if reason.is_passing() => Some(RETRY_AFTER_SECONDS),
            _ => None,
        }
    }

    /// The text of the answer.
    pub fn text(&self) -> &'static str {
        match self {
            Self::MethodNotAllowed => "Method not allowed",
            Self::ForbiddenHost => "Host is not served here",
            Self::ForbiddenOrigin => "Origin is not allowed",
            Self::UnsupportedMediaType => "Content-Type must be application/json in UTF-8",
            Self::NotAcceptable => "Accept must allow text/event-stream",
            Self::BodyTooLarge => "The body is too large",
            Self::ParseError => "The body is not JSON",
            Self::InvalidRequest(text) | Self::HeaderMismatch(text) | Self::InvalidParams(text) => {
                text
            }
            Self::UnsupportedVersion { .. } => "Unsupported protocol version",
            Self::MissingExtension(_) => {
                "The filter needs an extension that the client has not declared"
            }
            Self::LimitExceeded { what, .. } => what,
            Self::MethodNotFound => "Method not found",
            Self::SessionNotFound => "Session not found",
            Self::StreamTaken => "The session has a stream already",
            Self::TooManySessions => "Session limit reached",
            Self::Unauthorized => "Authorization is required",
            Self::Forbidden => "Not allowed to listen",
            Self::TooManyStreams | Self::TooManyOfCaller => "Subscription limit reached",
            Self::AuthorizerFailed => "Authorization is unavailable",
            Self::Unavailable => "Subscriptions are unavailable",
            Self::Closing => "The server is shutting down",
            Self::BadGateway => "The server behind this gateway cannot be reached",
            Self::GatewayTimeout => "The server behind this gateway took too long",
            Self::UnknownServer => "There is no such server here",
            Self::BodyTimeout => "The body did not arrive in time",
            Self::HeadersTooLarge => "The header fields are too large",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}

impl core::error::Error for Reason {}

const RETRY_AFTER_SECONDS: u32 = 2;
