//! Members of the messages: which are left out, and what has to be read by hand.

use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    json::{Node, Raw},
    vocabulary::{event::ServerEvent, position::Position},
};

use super::error::ProtocolError;

/// An event at its place, as JSON text.
#[derive(Serialize)]
#[serde(bound(serialize = "T: AsRef<str>"))]
pub(super) struct Entry<T> {
    position: Position,
    event: Raw<T>,
}

impl<T: AsRef<str>> From<(Position, T)> for Entry<T> {
    fn from((position, event): (Position, T)) -> Self {
        Self {
            position,
            event: Raw(event),
        }
    }
}

/// Reads `events`; left out, there are none. One that cannot be read is of a kind that is not known here: it has its place, and is
/// left out.
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

/// A number of bytes beyond what can be had here is no bound.
pub(super) fn room<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<usize>, D::Error> {
    let room = Option::<u64>::deserialize(reader)?;
    Ok(room.map(|room| usize::try_from(room).unwrap_or(usize::MAX)))
}

/// Nothing is said where there are no bounds, or larger ones than a number of JSON can say.
#[expect(clippy::ref_option, reason = "serde calls it")]
pub(super) fn is_unbounded(room: &Option<usize>) -> bool {
    room.is_none_or(|room| room as u64 > MAX_OF_JSON)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
pub(super) fn is_unset(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
pub(super) fn is_none(count: &u32) -> bool {
    *count == 0
}

/// The events of a message.
pub(super) fn entries<T: AsRef<str>>(events: impl Iterator<Item = (Position, T)>) -> Vec<Entry<T>> {
    events.map(Entry::from).collect()
}

/// The largest whole number that every reader of JSON tells from its neighbours.
const MAX_OF_JSON: u64 = (1 << 53) - 1;
