//! Members of messages that need special treatment: which are omitted, and which are read by hand.

use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    json::{Node, Raw},
    vocabulary::{event::ServerEvent, position::Position},
};

use super::error::ProtocolError;

/// An event and its position, as JSON text.
#[derive(Serialize)]
#[serde(bound(serialize = "T: AsRef<str>"))]
pub(super) struct PositionedEvent<T> {
    position: Position,
    event: Raw<T>,
}

impl<T: AsRef<str>> From<(Position, T)> for PositionedEvent<T> {
    fn from((position, event): (Position, T)) -> Self {
        Self {
            position,
            event: Raw(event),
        }
    }
}

/// Reads `events`; empty if it is missing. Leaves out events that cannot be read: they are of a
/// kind that this version does not know.
pub(super) fn events_in(node: &Node<'_>) -> Result<Vec<(Position, ServerEvent)>, ProtocolError> {
    let Some(list) = node.get("events") else {
        return Ok(Vec::new());
    };
    let mut events = Vec::new();
    for item in list.as_array().ok_or(ProtocolError::Malformed)? {
        let position = item.get("position").and_then(Node::as_u53);
        let position = Position(position.ok_or(ProtocolError::Malformed)?);
        let event = item.get("event").ok_or(ProtocolError::Malformed)?;
        events.extend(
            ServerEvent::from_node(event)
                .ok()
                .map(|event| (position, event)),
        );
    }
    Ok(events)
}

/// Reads a number of bytes; a number too large for this platform becomes the maximum.
pub(super) fn room<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<usize>, D::Error> {
    let room = Option::<u64>::deserialize(reader)?;
    Ok(room.map(|room| usize::try_from(room).unwrap_or(usize::MAX)))
}

/// Whether `room` is omitted: it is unlimited, or too large for a JSON number.
#[expect(clippy::ref_option, reason = "serde calls it")]
pub(super) fn is_unbounded(room: &Option<usize>) -> bool {
    room.is_none_or(|room| room as u64 > MAX_SAFE_INTEGER)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
pub(super) fn is_unset(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
pub(super) fn is_none(count: &u32) -> bool {
    *count == 0
}

/// Returns the events of a message.
pub(super) fn entries<T: AsRef<str>>(
    events: impl Iterator<Item = (Position, T)>,
) -> Vec<PositionedEvent<T>> {
    events.map(PositionedEvent::from).collect()
}

/// The largest integer that every JSON reader reads exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
