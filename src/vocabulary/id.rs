//! JSON-RPC request ids, kept exactly as they were written.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use crate::json::{self, Node, Value};

/// A JSON-RPC request id as raw JSON text: a string or an integer-valued number.
/// `1` and `"1"` differ, `0` and `""` are ids, and twenty digits survive, because the text is kept
/// and never parsed as a number (2026-07-28, Base protocol, Requests).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// As [`RequestId::from_raw`], for a part of a larger document.
    pub(crate) fn from_node(node: &Node<'_>, max_bytes: usize) -> Option<Self> {
        let is_id = match &node.value {
            Value::String(text) => text.len() <= max_bytes,
            Value::Number => node.raw.len() <= max_bytes && is_integer_valued(node.raw),
            _ => false,
        };
        is_id.then(|| Self(node.raw.into()))
    }

    /// Reads an id from the JSON text `raw`; `None` if it is not an id: null, a fraction, a
    /// boolean, a container, or a string or number of more than `max_bytes` (not counting a
    /// string's quotes and escapes).
    pub fn from_raw(raw: &str, max_bytes: usize) -> Option<Self> {
        let document = json::read(raw.as_bytes(), 0).ok()?;
        Self::from_node(&document.root, max_bytes)
    }

    /// Creates the string id `text`.
    pub fn from_text(text: &str) -> Self {
        let mut raw = String::new();
        json::push_string(&mut raw, text);
        Self(raw.into())
    }

    /// Returns the id as JSON text.
    pub fn raw(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Generates unique ids for the requests of one client, all of them strings: `"mcp-listen:1"`,
/// `"mcp-listen:2"`.
///
/// They do not collide with the ids of another library on the same channel, and contain only
/// characters that every JSON writer writes alike.
#[derive(Debug, Default)]
pub struct Ids {
    minted: u64,
}

impl Ids {
    /// Continues after the first `minted` ids, which another generator has returned.
    pub fn after(minted: u64) -> Self {
        Self { minted }
    }

    /// Returns an unused id.
    pub fn mint(&mut self) -> RequestId {
        self.minted += 1;
        RequestId::from_text(&format!("mcp-listen:{}", self.minted))
    }
}

/// Whether a JSON number has no fraction once its exponent is applied (`1` and `1.0` do not,
/// `15e-1` does).
fn is_integer_valued(number: &str) -> bool {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole_zeros = trailing_zeros(whole.trim_start_matches('-'));
    let fraction_digits = fraction.trim_end_matches('0').len();
    let is_zero = fraction_digits == 0 && whole_zeros.is_none();
    let shift = if fraction_digits > 0 {
        i64::try_from(fraction_digits).unwrap_or(i64::MAX)
    } else {
        -whole_zeros.unwrap_or(0)
    };
    is_zero || exponent_at_least(exponent, shift)
}

/// Returns the number of trailing zeros; `None` if there is no other digit.
fn trailing_zeros(digits: &str) -> Option<i64> {
    let rest = digits.trim_end_matches('0');
    (!rest.is_empty()).then(|| i64::try_from(digits.len() - rest.len()).unwrap_or(i64::MAX))
}

/// Whether an exponent is at least `least`. Exponents beyond `i64` are compared by their sign
/// alone.
fn exponent_at_least(exponent: &str, least: i64) -> bool {
    let digits = exponent.trim_start_matches('+');
    digits
        .parse::<i64>()
        .map_or(!digits.starts_with('-'), |value| value >= least)
}
