use alloc::string::String;
use core::fmt::Write as _;

use super::node::{Node, Value};

/// Appends `text` as a JSON string, with the shortest escape of each character that needs one (RFC
/// 8785, 3.2.2.2): line breaks and all other control characters.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            // A write to a string cannot fail.
            '\0'..' ' => drop(write!(out, "\\u{:04x}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// Appends the value on one line, without insignificant white space; numbers stay as they were
/// written.
pub fn to_compact(node: &Node<'_>) -> String {
    let mut out = String::with_capacity(node.raw.len());
    push_node(&mut out, node);
    out
}

fn push_node(out: &mut String, node: &Node<'_>) {
    match &node.value {
        Value::String(text) => push_string(out, text),
        Value::Array(items) => push_list(out, ('[', ']'), items.iter(), push_node),
        Value::Object(object) => push_list(out, ('{', '}'), object.iter(), |out, (name, node)| {
            push_string(out, name);
            out.push(':');
            push_node(out, node);
        }),
        Value::Null | Value::Bool(_) | Value::Number => out.push_str(node.raw),
    }
}

fn push_list<T>(
    out: &mut String,
    (open, close): (char, char),
    items: impl Iterator<Item = T>,
    push: impl Fn(&mut String, T),
) {
    out.push(open);
    for (place, item) in items.enumerate() {
        if place > 0 {
            out.push(',');
        }
        push(out, item);
    }
    out.push(close);
}
