//! The identity of a webhook subscription: who subscribed which url to what.

use alloc::{boxed::Box, string::String};
use core::fmt::{self, Write as _};

use crate::json;

use super::{
    jcs,
    occurrence::{MAX_ARGUMENT_BYTES, MAX_DEPTH},
};

/// Why arguments cannot identify a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// They are not a JSON object, nest deeper than [`MAX_DEPTH`], name a key twice, or have a
    /// number that no double holds.
    Malformed,
    /// Their canonical text has more than [`MAX_ARGUMENT_BYTES`].
    TooLarge,
}

impl ArgumentsError {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "invalid-arguments",
            Self::TooLarge => "arguments-too-large",
        }
    }
}

impl fmt::Display for ArgumentsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Malformed => {
                "the arguments are not an object of I-JSON that nests at most 32 deep"
            }
            Self::TooLarge => "the arguments have more than 4,096 bytes",
        })
    }
}

impl core::error::Error for ArgumentsError {}

/// Returns the canonical text of the arguments of a subscription, a JSON object.
///
/// # Errors
/// An [`ArgumentsError`] that says what is wrong.
pub fn canonical_arguments(text: &str) -> Result<Box<str>, ArgumentsError> {
    let document = json::read(text.as_bytes(), MAX_DEPTH);
    let document = document.map_err(|_| ArgumentsError::Malformed)?;
    let is_object = document.root.as_object().is_some();
    if !is_object || document.has_duplicate_key {
        return Err(ArgumentsError::Malformed);
    }
    let mut canonical = String::new();
    let whole = jcs::push_canonical(&mut canonical, &document.root, MAX_ARGUMENT_BYTES);
    if canonical.len() > MAX_ARGUMENT_BYTES {
        return Err(ArgumentsError::TooLarge);
    }
    whole.ok_or(ArgumentsError::Malformed)?;
    Ok(canonical.into_boxed_str())
}

/// Returns the text whose SHA-256 identifies a subscription: the canonical JSON of an array of the
/// principal, the url as it was given, the name of the event type and the arguments, which are
/// [canonical](canonical_arguments).
pub fn identity(principal: &str, url: &str, name: &str, arguments: &str) -> String {
    let mut out = String::from("[");
    for text in [principal, url, name] {
        json::push_string(&mut out, text);
        out.push(',');
    }
    out.push_str(arguments);
    out.push(']');
    out
}

/// Returns the id of a subscription from the SHA-256 of its [`identity`]: `sub_` and 32 hexadecimal
/// digits. `None` if the digest is too short.
pub fn subscription_id(digest: &[u8]) -> Option<Box<str>> {
    let mut id = String::from("sub_");
    for byte in digest.get(..ID_BYTES)? {
        // A write to a string cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    Some(id.into_boxed_str())
}

const ID_BYTES: usize = 16;
