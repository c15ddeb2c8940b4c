use mcp_listen::{
    event::ServerEvent,
    filter::{FilterError, SubscriptionFilter},
    limits::Limits,
    scope::Scope,
    wire::ProtocolError,
};

use crate::wit::types::{Error, ErrorCode};

/// Creates an error.
pub(crate) fn error(code: ErrorCode, message: &(impl ToString + ?Sized)) -> Error {
    Error {
        code,
        message: message.to_string(),
    }
}

/// Creates the error of a call that does not fit.
pub(crate) fn out_of_place(message: &str) -> Error {
    error(ErrorCode::OutOfPlace, message)
}

/// Parses an event.
pub(crate) fn event_of(text: &str) -> Result<ServerEvent, Error> {
    ServerEvent::from_json(text).map_err(|problem| error(ErrorCode::InvalidEvent, &problem))
}

/// Parses events: all of them, or none if one is not valid.
pub(crate) fn events_of(texts: &[String]) -> Result<Vec<ServerEvent>, Error> {
    texts.iter().map(|text| event_of(text)).collect()
}

/// Parses a filter of the host; its size is not limited.
pub(crate) fn filter_of(text: &str) -> Result<SubscriptionFilter, Error> {
    read_filter(text).map_err(|problem| error(ErrorCode::InvalidFilter, &problem))
}

fn read_filter(text: &str) -> Result<SubscriptionFilter, FilterError> {
    let limits = Limits {
        uris: usize::MAX,
        task_ids: usize::MAX,
        ..Limits::default()
    };
    SubscriptionFilter::from_json(text, &limits)
}

/// Parses the groups and the name of a caller.
pub(crate) fn scope_of(text: &str) -> Result<Scope, Error> {
    let message = "a name is empty, too long, or contains control characters";
    Scope::from_json(text).ok_or_else(|| error(ErrorCode::InvalidScope, message))
}

/// Converts the bytes of whole frames, which are text.
pub(crate) fn text_of(frames: Vec<u8>) -> String {
    String::from_utf8(frames)
        .unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned())
}

/// Writes header fields in the form of the core. Omits a field with a line break: it could pass
/// for two.
pub(crate) fn lines_of(fields: &[(String, String)]) -> String {
    let is_line = |text: &str| !text.contains(['\r', '\n']);
    let lines = fields
        .iter()
        .filter(|(name, value)| is_line(name) && is_line(value));
    let lines = lines.map(|(name, value)| format!("{name}: {value}"));
    lines.collect::<Vec<_>>().join("\n")
}

impl From<ProtocolError> for Error {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whatever else is wrong with a frame, it is malformed"
    )]
    fn from(problem: ProtocolError) -> Self {
        let code = match problem {
            ProtocolError::UnknownVersion => ErrorCode::UnknownFrameVersion,
            ProtocolError::UnknownType => ErrorCode::UnknownFrameType,
            ProtocolError::OutOfPlace => ErrorCode::FrameOutOfPlace,
            _ => ErrorCode::MalformedFrame,
        };
        error(code, &problem)
    }
}
