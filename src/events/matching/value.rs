use alloc::{borrow::Cow, string::String, string::ToString, vec::Vec};

use crate::json::{self, Node, Value};

/// Returns a text that is the same for equal JSON values: however their strings are escaped, their
/// numbers are written, and their members are ordered.
pub(crate) fn comparable(node: &Node<'_>) -> String {
    let mut out = String::with_capacity(node.raw.len());
    push(&mut out, node);
    out
}

fn push(out: &mut String, node: &Node<'_>) {
    match &node.value {
        Value::Number => out.push_str(&number(node.raw)),
        Value::String(text) => json::push_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                separate(out, place);
                push(out, item);
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut members: Vec<(&str, &Node<'_>)> = object.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (place, (name, value)) in members.into_iter().enumerate() {
                separate(out, place);
                json::push_string(out, name);
                out.push(':');
                push(out, value);
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) => out.push_str(node.raw),
    }
}

fn separate(out: &mut String, place: usize) {
    if place > 0 {
        out.push(',');
    }
}

/// Integers beyond the range of a double stay exact, because ids are such numbers.
fn number(raw: &str) -> Cow<'_, str> {
    if raw == "-0" {
        return Cow::Borrowed("0");
    }
    if raw
        .trim_start_matches('-')
        .bytes()
        .all(|byte| byte.is_ascii_digit())
    {
        return Cow::Borrowed(raw);
    }
    match raw.parse::<f64>() {
        Ok(number) if number == 0.0 => Cow::Borrowed("0"),
        Ok(number) if number.is_finite() => Cow::Owned(number.to_string()),
        _ => Cow::Borrowed(raw),
    }
}
