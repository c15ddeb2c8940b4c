//! Validation of names (URIs, task ids): opaque, compared code point by code point.

use alloc::sync::Arc;
use core::fmt;

/// Why a text is not a valid name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// The text is empty.
    Empty,
    /// The text contains a control character (such as CR, LF or NUL).
    Control,
    /// The text has more bytes than allowed.
    TooLong,
}

/// Checks `text`, of at most `max_bytes` bytes, without normalizing it.
///
/// # Errors
/// A [`NameError`]; only emptiness, control characters and length are refused.
pub fn checked(text: &str, max_bytes: usize) -> Result<Arc<str>, NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.chars().any(char::is_control) {
        return Err(NameError::Control);
    }
    if text.len() > max_bytes {
        return Err(NameError::TooLong);
    }
    Ok(text.into())
}

impl fmt::Display for NameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "is empty",
            Self::Control => "contains a control character",
            Self::TooLong => "is too long",
        })
    }
}

impl core::error::Error for NameError {}

/// Implements `serde` for a text type: serialized as it is, and parsed by `$read`, which takes a
/// `&str`.
macro_rules! serde_text {
    ($name:ty, $read:expr) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = alloc::borrow::Cow::<str>::deserialize(deserializer)?;
                $read(&*text).map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use serde_text;
