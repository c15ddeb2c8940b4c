//! Whether a JSON Schema only extends another one (SEP-3415, Schema evolution).

use crate::{
    events::matching::comparable,
    json::{self, Node, Value},
};

/// What a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The arguments, which clients send: nothing that was accepted may become invalid.
    Input,
    /// The payload, which clients read: nothing that was promised may go.
    Payload,
}

/// Whether subscriptions that were made for the schema `old` hold for `new`. Properties and values
/// may be added; what is not known to be harmless is taken for a break.
pub(super) fn is_extension(old: &str, new: &str, side: Side) -> bool {
    let read = |text| json::read(str::as_bytes(text), super::MAX_DEPTH);
    match (read(old), read(new)) {
        (Ok(old), Ok(new)) => extends(&old.root, &new.root, side),
        _ => false,
    }
}

fn extends(old: &Node<'_>, new: &Node<'_>, side: Side) -> bool {
    let (Value::Object(olds), Value::Object(news)) = (&old.value, &new.value) else {
        return comparable(old) == comparable(new);
    };
    let names = olds.iter().chain(news.iter()).map(|(name, _)| name);
    names
        .filter(|name| !ANNOTATIONS.contains(name))
        .all(|name| keyword_extends(name, olds.get(name), news.get(name), side))
}

fn keyword_extends(
    keyword: &str,
    old: Option<&Node<'_>>,
    new: Option<&Node<'_>>,
    side: Side,
) -> bool {
    match (keyword, old, new) {
        ("properties", _, _) => properties_extend(old, new, side),
        ("required", _, _) => match side {
            Side::Input => is_subset(new, old),
            Side::Payload => is_subset(old, new),
        },
        ("enum", Some(_), Some(_)) => is_subset(old, new),
        ("items", Some(old), Some(new)) => extends(old, new, side),
        (_, Some(old), Some(new)) => comparable(old) == comparable(new),
        _ => false,
    }
}

fn properties_extend(old: Option<&Node<'_>>, new: Option<&Node<'_>>, side: Side) -> bool {
    let olds = old.and_then(Node::as_object);
    let mut olds = olds.into_iter().flat_map(json::Object::iter);
    olds.all(|(name, old)| {
        let new = new.and_then(|new| new.get(name));
        new.is_some_and(|new| extends(old, new, side))
    })
}

/// Whether each item of one array is in the other; a missing array has no items.
fn is_subset(part: Option<&Node<'_>>, whole: Option<&Node<'_>>) -> bool {
    let items = |node: Option<&Node<'_>>| node.and_then(Node::as_array).is_some() || node.is_none();
    if !items(part) || !items(whole) {
        return false;
    }
    let part = part.and_then(Node::as_array).unwrap_or_default();
    let whole = whole.and_then(Node::as_array).unwrap_or_default();
    part.iter().all(|item| {
        let item = comparable(item);
        whole.iter().any(|other| comparable(other) == item)
    })
}

/// Keywords that constrain nothing.
const ANNOTATIONS: [&str; 8] = [
    "$comment",
    "$id",
    "$schema",
    "default",
    "deprecated",
    "description",
    "examples",
    "title",
];
