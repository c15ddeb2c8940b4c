//! The members of the messages between a root and its shards, read and written.

use crate::{
    event::ServerEvent,
    json::{self, Document, Node},
    position::Position,
    topic::Topic,
    uri::Uri,
};

use super::{
    protocol::{EDGE_LIMITS, ProtocolError},
    shard_protocol::Watched,
};

pub(super) fn parse(text: &str) -> Result<Document<'_>, ProtocolError> {
    let document = json::read(text.as_bytes(), DEPTH)
        .ok()
        .filter(|document| !document.has_duplicate_key)
        .ok_or(ProtocolError::Malformed)?;
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

pub(super) fn count_in(node: &Node<'_>, name: &str) -> Result<u32, ProtocolError> {
    u32::try_from(number_in(node, name)?).map_err(|_| ProtocolError::Malformed)
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

pub(super) fn items_in<'n, 'a>(node: &'n Node<'a>, name: &str) -> &'n [Node<'a>] {
    node.get(name).and_then(Node::as_array).unwrap_or_default()
}

pub(super) fn texts_in(node: &Node<'_>, name: &str) -> Result<Vec<Box<str>>, ProtocolError> {
    let texts = items_in(node, name).iter();
    texts
        .map(|item| {
            item.as_str()
                .map(Into::into)
                .ok_or(ProtocolError::Malformed)
        })
        .collect()
}

pub(super) fn topics_in(node: &Node<'_>, name: &str) -> Result<Vec<Topic>, ProtocolError> {
    let items = items_in(node, name).iter();
    items
        .map(|item| item.as_str().and_then(Topic::from_text))
        .map(|topic| topic.ok_or(ProtocolError::Malformed))
        .collect()
}

pub(super) fn events_in(node: &Node<'_>) -> Result<Vec<(Position, ServerEvent)>, ProtocolError> {
    let event_in = |item: &Node<'_>| {
        let event = item.get("event").ok_or(ProtocolError::Malformed)?;
        let event = ServerEvent::from_node(event).map_err(ProtocolError::Event)?;
        Ok((position_in(item)?, event))
    };
    items_in(node, "events").iter().map(event_in).collect()
}

pub(super) fn watch_in(node: &Node<'_>) -> Result<Watched, ProtocolError> {
    let uris = items_in(node, "uris").iter().map(|item| {
        let text = item.as_str();
        let uri = text.and_then(|text| Uri::new(text, usize::MAX).ok());
        uri.ok_or(ProtocolError::Malformed)
    });
    Ok(Watched {
        session: text_in(node, "session")?.into(),
        uris: uris.collect::<Result<_, _>>()?,
        is_held: is_set(node, "held"),
    })
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

pub(super) fn push_room(out: &mut String, room: usize) {
    push_number(out, "room", room as u64);
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

pub(super) fn push_topics(out: &mut String, name: &str, topics: &[Topic]) {
    if !topics.is_empty() {
        push_name(out, name);
        push_list(out, topics.iter(), |out, topic| {
            json::push_string(out, &topic.to_text());
        });
    }
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
/// An event stands in an object, in a list, in the message.
const DEPTH: usize = EDGE_LIMITS.depth + 2;
