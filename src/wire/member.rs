//! The members of the messages, read and written.

use alloc::{
    boxed::Box,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    event::ServerEvent,
    json::{self, Document, Node},
    position::Position,
    topic::{Delta, Topic},
    uri::Uri,
};

use super::error::ProtocolError;

/// Any JSON text.
pub(super) fn parse_text(text: &str) -> Result<Document<'_>, ProtocolError> {
    json::read(text.as_bytes(), DEPTH)
        .ok()
        .filter(|document| !document.has_duplicate_key)
        .ok_or(ProtocolError::Malformed)
}

/// A message of the version that is spoken here.
pub(super) fn parse(text: &str) -> Result<Document<'_>, ProtocolError> {
    let document = parse_text(text)?;
    match number_in(&document.root, "v")? {
        VERSION => Ok(document),
        _ => Err(ProtocolError::UnknownVersion),
    }
}

pub(super) fn read<'t>(text: &'t str, kind: &str) -> Result<Document<'t>, ProtocolError> {
    let document = parse(text)?;
    if text_in(&document.root, "type")? == kind {
        return Ok(document);
    }
    Err(ProtocolError::UnknownType)
}

pub(super) fn text_in<'n>(node: &'n Node<'_>, name: &str) -> Result<&'n str, ProtocolError> {
    let text = node.get(name).and_then(Node::as_str);
    text.ok_or(ProtocolError::Malformed)
}

pub(super) fn optional(node: &Node<'_>, name: &str) -> Result<Option<u64>, ProtocolError> {
    let number = node.get(name).map(Node::as_u53);
    number
        .map(|number| number.ok_or(ProtocolError::Malformed))
        .transpose()
}

pub(super) fn number_in(node: &Node<'_>, name: &str) -> Result<u64, ProtocolError> {
    optional(node, name)?.ok_or(ProtocolError::Malformed)
}

/// A count that is left out is 0.
pub(super) fn count_in(node: &Node<'_>, name: &str) -> Result<u32, ProtocolError> {
    let count = optional(node, name)?.unwrap_or_default();
    u32::try_from(count).map_err(|_| ProtocolError::Malformed)
}

pub(super) fn position_in(node: &Node<'_>) -> Result<Position, ProtocolError> {
    number_in(node, "position").map(Position)
}

/// A number of bytes beyond what can be had here is no bound.
pub(super) fn room_in(node: &Node<'_>) -> Result<Option<usize>, ProtocolError> {
    let room = optional(node, "room")?;
    Ok(room.map(|room| usize::try_from(room).unwrap_or(usize::MAX)))
}

pub(super) fn is_set(node: &Node<'_>, name: &str) -> bool {
    node.get(name).and_then(Node::as_bool).unwrap_or_default()
}

/// A list that is left out is empty.
pub(super) fn items_in<'n, 'a>(
    node: &'n Node<'a>,
    name: &str,
) -> Result<&'n [Node<'a>], ProtocolError> {
    let list = node.get(name).map(Node::as_array);
    list.unwrap_or(Some(&[])).ok_or(ProtocolError::Malformed)
}

pub(super) fn texts_in(node: &Node<'_>, name: &str) -> Result<Vec<Box<str>>, ProtocolError> {
    let texts = items_in(node, name)?.iter();
    texts
        .map(|item| {
            item.as_str()
                .map(Into::into)
                .ok_or(ProtocolError::Malformed)
        })
        .collect()
}

fn topics_in(node: &Node<'_>, name: &str) -> Result<Vec<Topic>, ProtocolError> {
    let items = items_in(node, name)?.iter();
    items
        .map(|item| item.as_str().and_then(Topic::from_text))
        .map(|topic| topic.ok_or(ProtocolError::Malformed))
        .collect()
}

pub(super) fn delta_in(node: &Node<'_>) -> Result<Delta, ProtocolError> {
    Ok(Delta {
        add: topics_in(node, "add")?,
        drop: topics_in(node, "drop")?,
    })
}

/// An event that cannot be read is of a kind that is not known here: it has its place, and is left out.
pub(super) fn events_in(node: &Node<'_>) -> Result<Vec<(Position, ServerEvent)>, ProtocolError> {
    let mut events = Vec::new();
    for item in items_in(node, "events")? {
        let position = position_in(item)?;
        let event = item.get("event").ok_or(ProtocolError::Malformed)?;
        events.extend(
            ServerEvent::from_node(event)
                .ok()
                .map(|event| (position, event)),
        );
    }
    Ok(events)
}

pub(super) fn uris_in(node: &Node<'_>) -> Result<Vec<Uri>, ProtocolError> {
    let uris = items_in(node, "uris")?.iter().map(|item| {
        let text = item.as_str();
        let uri = text.and_then(|text| Uri::new(text, usize::MAX).ok());
        uri.ok_or(ProtocolError::Malformed)
    });
    uris.collect()
}

pub(super) fn opened(kind: &str) -> String {
    let mut out = String::from("{\"v\":1,\"type\":\"");
    out.push_str(kind);
    out.push('"');
    out
}

pub(super) fn closed(mut out: String) -> String {
    out.push('}');
    out
}

pub(super) fn push_name(out: &mut String, name: &str) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
}

pub(super) fn push_number(out: &mut String, name: &str, number: u64) {
    push_name(out, name);
    out.push_str(&number.to_string());
}

/// Nothing where there are no bounds, or larger ones than a number of JSON can say.
pub(super) fn push_room(out: &mut String, room: Option<usize>) {
    if let Some(room) = room.filter(|room| *room as u64 <= MOST_OF_JSON) {
        push_number(out, "room", room as u64);
    }
}

pub(super) fn push_position(out: &mut String, name: &str, position: Option<Position>) {
    if let Some(position) = position {
        push_number(out, name, position.0);
    }
}

pub(super) fn push_flag(out: &mut String, name: &str, is_set: bool) {
    if is_set {
        push_name(out, name);
        out.push_str("true");
    }
}

pub(super) fn push_text(out: &mut String, name: &str, text: &str) {
    push_name(out, name);
    json::push_string(out, text);
}

pub(super) fn push_texts<'t>(
    out: &mut String,
    name: &str,
    texts: impl ExactSizeIterator<Item = &'t str>,
) {
    if texts.len() > 0 {
        push_name(out, name);
        push_list(out, texts, json::push_string);
    }
}

pub(super) fn push_uris(out: &mut String, uris: &[Uri]) {
    push_texts(out, "uris", uris.iter().map(|uri| &**uri));
}

pub(super) fn push_delta(out: &mut String, delta: &Delta) {
    push_topics(out, "add", &delta.add);
    push_topics(out, "drop", &delta.drop);
}

pub(super) fn push_topics(out: &mut String, name: &str, topics: &[Topic]) {
    if !topics.is_empty() {
        push_name(out, name);
        push_topic_list(out, topics);
    }
}

pub(super) fn push_topic_list(out: &mut String, topics: &[Topic]) {
    push_list(out, topics.iter(), |out, topic| {
        json::push_string(out, &topic.to_text());
    });
}

pub(super) fn push_events<T: AsRef<str>>(
    out: &mut String,
    events: impl Iterator<Item = (Position, T)>,
) {
    push_name(out, "events");
    push_list(out, events, |out, (position, event)| {
        out.push_str("{\"position\":");
        out.push_str(&position.0.to_string());
        out.push_str(",\"event\":");
        out.push_str(event.as_ref());
        out.push('}');
    });
}

pub(super) fn push_list<T>(
    out: &mut String,
    items: impl Iterator<Item = T>,
    push: impl Fn(&mut String, T),
) {
    out.push('[');
    for (place, item) in items.enumerate() {
        if place > 0 {
            out.push(',');
        }
        push(out, item);
    }
    out.push(']');
}

const VERSION: u64 = 1;
/// The largest whole number that every reader of JSON tells from its neighbours.
const MOST_OF_JSON: u64 = (1 << 53) - 1;
/// An event, which nests up to 64 deep, stands in an object, in a list, in the message.
const DEPTH: usize = 67;
