use alloc::{boxed::Box, string::String};
use core::fmt;

use crate::{
    clock::Millis,
    json::{self, Node},
    vocabulary::{position::Cursor, scope::Name},
};

use super::{
    GROUP_PREFIX, cue_group,
    name::{EventName, EventNameError},
    timestamp::{is_iso, iso},
};

/// An occurrence as a server publishes it, before the bus gives it a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The type of the event.
    pub name: EventName,
    /// The payload, a compact JSON object of at most [`MAX_DATA_BYTES`].
    pub data: Box<str>,
    /// The id that the server gives it; without it the id follows from the position.
    pub event_id: Option<Box<str>>,
    /// When it happened, by ISO 8601 with an offset; without it: when it was published.
    pub timestamp: Option<Box<str>>,
    /// Only callers of this group receive it; `None`: every caller.
    pub group: Option<Name>,
}

/// Why a text is not an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OccurrenceError {
    /// Not a JSON object, nested too deeply, or one with a duplicate key.
    Malformed,
    /// `name` is missing or not a valid name.
    Name(EventNameError),
    /// `data` is missing or not an object.
    Data,
    /// `data` has more than [`MAX_DATA_BYTES`].
    TooLarge,
    /// `eventId` is not 1 to 256 visible ASCII characters without `.`.
    EventId,
    /// `timestamp` is not a date and time of ISO 8601 with an offset.
    Timestamp,
    /// `group` is not a valid name, begins with [`GROUP_PREFIX`], or is too long after it.
    Group,
}

impl Draft {
    /// Reads `{"kind":"event","name":TEXT,"data":OBJECT}` with the optional members `eventId`,
    /// `timestamp` and `group`; ignores other members.
    ///
    /// # Errors
    /// An [`OccurrenceError`] that says what is wrong.
    pub fn from_json(text: &[u8]) -> Result<Self, OccurrenceError> {
        let document = json::read(text, MAX_DEPTH + 1).map_err(|_| OccurrenceError::Malformed)?;
        if document.has_duplicate_key {
            return Err(OccurrenceError::Malformed);
        }
        Self::from_node(&document.root)
    }

    /// As [`Draft::from_json`], for a part of a larger document.
    pub(crate) fn from_node(node: &Node<'_>) -> Result<Self, OccurrenceError> {
        let object = node.as_object().ok_or(OccurrenceError::Malformed)?;
        let name = object
            .get("name")
            .and_then(Node::as_str)
            .unwrap_or_default();
        Ok(Self {
            name: EventName::defined(name).map_err(OccurrenceError::Name)?,
            data: data_of(object.get("data"))?,
            event_id: optional(object.get("eventId"), is_event_id)
                .ok_or(OccurrenceError::EventId)?,
            timestamp: optional(object.get("timestamp"), is_iso)
                .ok_or(OccurrenceError::Timestamp)?,
            group: group_of(object.get("group"))?,
        })
    }

    /// Returns the occurrence as compact JSON, which begins with `{"kind":"event",`.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{\"kind\":\"event\",\"name\":");
        json::push_string(&mut out, &self.name);
        for (name, text) in [
            ("eventId", self.event_id.as_deref()),
            ("timestamp", self.timestamp.as_deref()),
            ("group", self.group.as_deref()),
        ] {
            if let Some(text) = text {
                out.push_str(",\"");
                out.push_str(name);
                out.push_str("\":");
                json::push_string(&mut out, text);
            }
        }
        out.push_str(",\"data\":");
        out.push_str(&self.data);
        out.push('}');
        out
    }

    /// Returns the id of the occurrence at `cursor`.
    pub(super) fn id_at(&self, cursor: &Cursor) -> String {
        let position = cursor.position.0;
        self.event_id
            .as_deref()
            .map_or_else(|| format!("evt_{}_{position}", cursor.epoch), Into::into)
    }

    /// Returns the members `eventId`, `timestamp` and `data` as compact JSON, without the braces.
    pub(super) fn members(&self, event_id: &str, now: Millis) -> String {
        let mut out = String::from("\"eventId\":");
        json::push_string(&mut out, event_id);
        out.push_str(",\"timestamp\":");
        match &self.timestamp {
            Some(timestamp) => json::push_string(&mut out, timestamp),
            None => json::push_string(&mut out, &iso(now)),
        }
        out.push_str(",\"data\":");
        out.push_str(&self.data);
        out
    }
}

fn data_of(node: Option<&Node<'_>>) -> Result<Box<str>, OccurrenceError> {
    let node = node.ok_or(OccurrenceError::Data)?;
    node.as_object().ok_or(OccurrenceError::Data)?;
    let data = json::to_compact(node);
    if data.len() > MAX_DATA_BYTES {
        return Err(OccurrenceError::TooLarge);
    }
    Ok(data.into_boxed_str())
}

fn group_of(node: Option<&Node<'_>>) -> Result<Option<Name>, OccurrenceError> {
    let Some(node) = node else {
        return Ok(None);
    };
    let is_free = |group: &Name| !group.starts_with(GROUP_PREFIX) && cue_group(group).is_some();
    let group = Name::from_node(node).filter(is_free);
    group.map(Some).ok_or(OccurrenceError::Group)
}

/// Returns the text of an optional member; `None` if it is there and not valid.
#[expect(clippy::option_option, reason = "absent and invalid differ")]
fn optional(node: Option<&Node<'_>>, is_valid: fn(&str) -> bool) -> Option<Option<Box<str>>> {
    match node {
        None => Some(None),
        Some(node) => node
            .as_str()
            .filter(|text| is_valid(text))
            .map(|text| Some(text.into())),
    }
}

/// Standard Webhooks sign `id.timestamp.body`, so an id has no dot.
fn is_event_id(text: &str) -> bool {
    let is_visible = |byte: u8| byte.is_ascii_graphic() && byte != b'.';
    (1..=MAX_ID_BYTES).contains(&text.len()) && text.bytes().all(is_visible)
}

impl OccurrenceError {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed-event",
            Self::Name(_) => "invalid-event-name",
            Self::Data => "invalid-event-data",
            Self::TooLarge => "event-too-large",
            Self::EventId => "invalid-event-id",
            Self::Timestamp => "invalid-timestamp",
            Self::Group => "invalid-group",
        }
    }
}

impl fmt::Display for OccurrenceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => formatter.write_str("the event is not a JSON object"),
            Self::Name(error) => error.fmt(formatter),
            Self::Data => formatter.write_str("data is not a JSON object"),
            Self::TooLarge => write!(formatter, "data has more than {MAX_DATA_BYTES} bytes"),
            Self::EventId => formatter
                .write_str("the eventId is not 1 to 256 visible ASCII characters without a dot"),
            Self::Timestamp => formatter.write_str("the timestamp is not ISO 8601 with an offset"),
            Self::Group => formatter.write_str("the group is not a valid name"),
        }
    }
}

impl core::error::Error for OccurrenceError {}

/// Maximum bytes of a payload as compact JSON.
pub const MAX_DATA_BYTES: usize = 196_608;
/// Maximum bytes of the arguments of one request as canonical JSON.
pub const MAX_ARGUMENT_BYTES: usize = 4_096;
/// Maximum nesting depth of a payload, and of arguments.
pub const MAX_DEPTH: usize = 32;
const MAX_ID_BYTES: usize = 256;
