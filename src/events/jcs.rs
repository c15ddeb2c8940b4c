//! Canonical JSON text (RFC 8785): two texts of the same value become the same bytes.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::ops::Range;

use crate::json::{Node, Object, Value, push_string};

/// Returns the canonical text; `None` if a number exceeds what a double holds. The document must
/// have no duplicate key: RFC 8785 is for I-JSON.
pub fn canonical(node: &Node<'_>) -> Option<String> {
    let mut out = String::with_capacity(node.raw.len());
    push_canonical(&mut out, node, usize::MAX)?;
    Some(out)
}

/// Appends the [`canonical`] text. Reads nothing after the first value with which `out` exceeds
/// `max_bytes`, and then returns `None`.
pub(super) fn push_canonical(out: &mut String, node: &Node<'_>, max_bytes: usize) -> Option<()> {
    match &node.value {
        Value::Null | Value::Bool(_) => out.push_str(node.raw),
        Value::Number => push_number(out, node.raw.parse().ok()?)?,
        Value::String(text) => push_string(out, text),
        Value::Array(items) => push_array(out, items, max_bytes)?,
        Value::Object(object) => push_object(out, object, max_bytes)?,
    }
    (out.len() <= max_bytes).then_some(())
}

fn push_array(out: &mut String, items: &[Node<'_>], max_bytes: usize) -> Option<()> {
    out.push('[');
    for (place, item) in items.iter().enumerate() {
        separate(out, place);
        push_canonical(out, item, max_bytes)?;
    }
    out.push(']');
    Some(())
}

/// Appends the members, ordered by the UTF-16 code units of their names.
fn push_object(out: &mut String, object: &Object<'_>, max_bytes: usize) -> Option<()> {
    let mut members: Vec<_> = object.iter().collect();
    members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
    out.push('{');
    for (place, (name, node)) in members.into_iter().enumerate() {
        separate(out, place);
        push_string(out, name);
        out.push(':');
        push_canonical(out, node, max_bytes)?;
    }
    out.push('}');
    Some(())
}

fn separate(out: &mut String, place: usize) {
    if place > 0 {
        out.push(',');
    }
}

/// Appends a number as ECMAScript prints it (`Number::toString`): the fewest digits that read back
/// as the same double. `None` if it is infinite.
fn push_number(out: &mut String, number: f64) -> Option<()> {
    if !number.is_finite() {
        return None;
    }
    if number == 0.0 {
        out.push('0');
        return Some(());
    }
    if number < 0.0 {
        out.push('-');
    }
    let (digits, exponent) = shortest(number.abs())?;
    push_digits(out, &digits, exponent + 1);
    Some(())
}

/// Returns the digits of a positive number, and the power of ten of the first one.
fn shortest(number: f64) -> Option<(String, i32)> {
    let (digits, exponent) = split(&format!("{number:e}"))?;
    let even = even_below(number, digits.len(), exponent);
    Some((even.unwrap_or(digits), exponent))
}

/// Returns the even one of two texts of `count` digits if the number is exactly between them and
/// both read back as it: ECMAScript prints that one. The formatter prints the one above.
fn even_below(number: f64, count: usize, exponent: i32) -> Option<String> {
    if !BETWEEN.contains(&number) {
        return None;
    }
    let is_between = |digits: &str| {
        let rest = digits.get(count..);
        rest.is_some_and(|rest| rest.trim_end_matches('0') == "5")
    };
    let of = |decimals: usize| {
        split(&format!("{number:.decimals$e}"))
            .filter(|(digits, power)| *power == exponent && is_between(digits))
    };
    let (mut digits, _) = of(count).and_then(|_| of(MAX_DECIMALS))?;
    digits.truncate(count);
    let is_even = digits.ends_with(['0', '2', '4', '6', '8']);
    let decimals = exponent - i32::try_from(count).ok()? + 1;
    let is_it = || format!("{digits}e{decimals}").parse() == Ok(number);
    (is_even && is_it()).then_some(digits)
}

/// Splits a number of the form `1.23e4` into `123` and 4.
fn split(text: &str) -> Option<(String, i32)> {
    let (digits, exponent) = text.split_once('e')?;
    Some((digits.replace('.', ""), exponent.parse().ok()?))
}

/// Appends `0.digits` times ten to the power of `point`.
fn push_digits(out: &mut String, digits: &str, point: i32) {
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    if (count..=MAX_POINT).contains(&point) {
        out.push_str(digits);
        out.push_str(&zeros(point - count));
    } else if (1..=MAX_POINT).contains(&point) {
        let (whole, fraction) = split_at(digits, usize::try_from(point).unwrap_or(0));
        push_all(out, [whole, ".", fraction]);
    } else if (MIN_POINT..=0).contains(&point) {
        push_all(out, ["0.", &zeros(-point), digits]);
    } else {
        push_exponential(out, digits, point - 1);
    }
}

/// Splits digits without the code of a panic, which prints characters.
fn split_at(digits: &str, count: usize) -> (&str, &str) {
    digits.split_at_checked(count).unwrap_or((digits, ""))
}

fn push_exponential(out: &mut String, digits: &str, exponent: i32) {
    let (first, rest) = split_at(digits, 1);
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { "-" } else { "+" };
    let exponent = exponent.unsigned_abs().to_string();
    push_all(out, [first, point, rest]);
    push_all(out, ["e", sign, &exponent]);
}

fn push_all(out: &mut String, parts: [&str; 3]) {
    for part in parts {
        out.push_str(part);
    }
}

/// A number is exactly between two texts only if it has 2 to 25 decimals and at most 18 digits, so
/// that it is at least two to the power of -25 and less than two to the power of 51.
const BETWEEN: Range<f64> = 1.0 / 33_554_432.0..2_251_799_813_685_248.0;
/// No double in that range has more decimals.
const MAX_DECIMALS: usize = 77;
/// A number below ten to this power has no exponent.
const MAX_POINT: i32 = 21;
/// A fraction with more zeros after its point has an exponent.
const MIN_POINT: i32 = -5;
