//! The rule for texts that name a subject: opaque, compared code point by code point.

use alloc::sync::Arc;
use core::fmt;

/// Why a text names nothing that can be listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// The text is empty.
    Empty,
    /// The text holds a control character (CR, LF and NUL among them).
    Control,
    /// The text has more bytes than allowed.
    TooLong,
}

/// Takes `text` of at most `max_bytes` bytes as it stands, never normalised.
///
/// # Errors
/// A [`NameError`]; nothing but emptiness, control characters and length is refused.
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
            Self::Control => "holds a control character",
            Self::TooLong => "is too long",
        })
    }
}

impl core::error::Error for NameError {}

/// Makes a text of the vocabulary one for `serde`: written as it stands, and read by `$read`, which takes a `&str`.
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
