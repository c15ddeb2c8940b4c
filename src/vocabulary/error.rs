//! Rejections: the errors that refused requests get.

use alloc::string::String;
use core::fmt;

use crate::vocabulary::id::RequestId;

/// A rejected request: the reason, and the request's id if it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejection {
    /// Why the request is rejected.
    pub reason: Reason,
    /// The id of the rejected request; `None` if it could not be read.
    pub id: Option<RequestId>,
}

/// Why a request is rejected. Each reason has one HTTP status, one JSON-RPC code and one fixed
/// text; of the input, only the id and the requested version are echoed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The endpoint does not serve this HTTP method.
    MethodNotAllowed,
    /// The request is addressed to a host that is not served.
    ForbiddenHost,
    /// The request comes from a page whose origin is not allowed.
    ForbiddenOrigin,
    /// The body is not declared as uncompressed JSON in UTF-8.
    UnsupportedMediaType,
    /// The client does not accept an event stream.
    NotAcceptable,
    /// The body is larger than allowed.
    BodyTooLarge,
    /// The body is not JSON.
    ParseError,
    /// The body is not one JSON-RPC 2.0 request with a usable id.
    InvalidRequest(&'static str),
    /// A routing header is missing or does not match the body.
    HeaderMismatch(&'static str),
    /// The requested protocol version is not supported.
    UnsupportedVersion {
        /// The version that the client requested.
        requested: String,
    },
    /// The filter requires this extension, which the client has not declared.
    MissingExtension(&'static str),
    /// The parameters do not match the method.
    InvalidParams(&'static str),
    /// The parameters exceed a limit.
    LimitExceeded {
        /// What is too large.
        what: &'static str,
        /// The largest accepted value.
        limit: usize,
    },
    /// The server does not offer this method.
    MethodNotFound,
    /// The session does not exist, has ended, or belongs to another caller.
    SessionNotFound,
    /// The session already has a stream.
    StreamTaken,
    /// The maximum number of sessions is reached.
    TooManySessions,
    /// The caller is not authenticated.
    Unauthorized,
    /// The caller is not allowed to listen.
    Forbidden,
    /// The maximum number of streams of this isolate is reached.
    TooManyStreams,
    /// The maximum number of streams of this caller is reached.
    TooManyOfCaller,
    /// The authorizer failed.
    AuthorizerFailed,
    /// The bus or the MCP server does not respond.
    Unavailable,
    /// This server is shutting down.
    Closing,
    /// The upstream server of a gateway cannot be reached, or its response is invalid.
    BadGateway,
    /// The upstream server of a gateway does not begin to respond in time.
    GatewayTimeout,
    /// A gateway has no upstream server with this name.
    UnknownServer,
    /// The body did not arrive in time.
    BodyTimeout,
    /// The header fields are larger than what an open stream may retain of its request.
    HeadersTooLarge,
}

impl Rejection {
    /// Rejects the request `id` for `reason`.
    pub fn new(reason: Reason, id: Option<RequestId>) -> Self {
        Self { reason, id }
    }
}

impl Reason {
    /// Returns the HTTP status of the response.
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
            reason if reason.is_transient() => 503,
            _ => 400,
        }
    }

    /// Returns the JSON-RPC error code of the response (2026-07-28, Base protocol, Error Codes).
    pub fn json_rpc_code(&self) -> i32 {
        match self {
            Self::ParseError => -32_700,
            Self::HeaderMismatch(_) => -32_020,
            Self::MissingExtension(_) => -32_021,
            Self::MethodNotFound => -32_601,
            Self::SessionNotFound => -32_001,
            Self::UnsupportedVersion { .. } => -32_022,
            Self::InvalidParams(_) | Self::LimitExceeded { .. } => -32_602,
            reason if reason.is_transient() => -32_603,
            _ => -32_600,
        }
    }

    /// Whether HTTP alone decides it: such a request is rejected before its caller is
    /// authenticated, all others after that.
    pub fn is_transport_level(&self) -> bool {
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
    fn is_transient(&self) -> bool {
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

    /// Returns the class of the rejection, for metrics.
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

    /// Returns the seconds to send as `Retry-After`; `None` if a retry would not help.
    pub fn retry_after(&self) -> Option<u32> {
        match self {
            reason if reason.is_transient() => Some(RETRY_AFTER_SECONDS),
            _ => None,
        }
    }

    /// Returns the message of the response.
    pub fn text(&self) -> &'static str {
        match self {
            Self::MethodNotAllowed => "Method not allowed",
            Self::ForbiddenHost => "Host is not allowed",
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
                "The filter requires an extension that the client has not declared"
            }
            Self::LimitExceeded { what, .. } => what,
            Self::MethodNotFound => "Method not found",
            Self::SessionNotFound => "Session not found",
            Self::StreamTaken => "The session already has a stream",
            Self::TooManySessions => "Session limit reached",
            Self::Unauthorized => "Authorization is required",
            Self::Forbidden => "Not allowed to listen",
            Self::TooManyStreams | Self::TooManyOfCaller => "Subscription limit reached",
            Self::AuthorizerFailed => "Authorization is unavailable",
            Self::Unavailable => "Subscriptions are unavailable",
            Self::Closing => "The server is shutting down",
            Self::BadGateway => "The server behind this gateway cannot be reached",
            Self::GatewayTimeout => "The server behind this gateway took too long",
            Self::UnknownServer => "Unknown server",
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

/// Seconds of `Retry-After` in the response to a refusal that will pass.
const RETRY_AFTER_SECONDS: u32 = 2;
