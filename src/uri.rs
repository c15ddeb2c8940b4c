//! Resource URIs: opaque text, compared code point by code point.

use std::{fmt, ops::Deref};

/// A resource's URI: not empty, no control characters, never normalised.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uri(Box<str>);

/// Why a text is no URI that can be listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UriError {
    /// The text is empty.
    Empty,
    /// The text holds a control character (CR, LF and NUL among them).
    Control,
    /// The text has more bytes than allowed.
    TooLong,
}

impl Uri {
    /// Takes `text` of at most `max_bytes` bytes as it stands.
    ///
    /// # Errors
    /// A [`UriError`]; nothing but emptiness, control characters and length is refused.
    pub fn new(text: &str, max_bytes: usize) -> Result<Self, UriError> {
        if text.is_empty() {
            return Err(UriError::Empty);
        }
        if text.len() > max_bytes {
            return Err(UriError::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(UriError::Control);
        }
        Ok(Self(text.into()))
    }
}

impl Deref for Uri {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Uri {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UriError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "the uri is empty",
            Self::Control => "the uri holds a control character",
            Self::TooLong => "the uri is too long",
        })
    }
}

impl std::error::Error for UriError {}
