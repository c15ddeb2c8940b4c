use alloc::sync::Arc;
use core::{fmt, ops::Deref};

use crate::vocabulary::name::serde_text;

/// The name of an event type: 1 to 128 characters of `A-Z`, `a-z`, `0-9`, `_`, `.` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventName(Arc<str>);

/// Why a text is not the name of an event type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventNameError {
    /// The text is empty or has more than 128 characters.
    Length,
    /// The text has a character that names do not have.
    Character,
    /// The name begins with `mcp.`, which the protocol reserves.
    Reserved,
}

impl EventName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`EventNameError::Length`] or [`EventNameError::Character`].
    pub fn new(text: &str) -> Result<Self, EventNameError> {
        if !(1..=MAX_CHARACTERS).contains(&text.chars().count()) {
            return Err(EventNameError::Length);
        }
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if !text.bytes().all(is_allowed) {
            return Err(EventNameError::Character);
        }
        Ok(Self(text.into()))
    }

    /// Checks the name of an event type that a server defines.
    ///
    /// # Errors
    /// As [`EventName::new`], and [`EventNameError::Reserved`].
    pub fn defined(text: &str) -> Result<Self, EventNameError> {
        let name = Self::new(text)?;
        if name.starts_with(RESERVED) {
            return Err(EventNameError::Reserved);
        }
        Ok(name)
    }
}

serde_text!(EventName, EventName::new);

impl Deref for EventName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EventNameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Length => "the name of an event type has 1 to 128 characters",
            Self::Character => "the name of an event type has letters, digits, _, . and - only",
            Self::Reserved => "names of event types that begin with mcp. are reserved",
        })
    }
}

impl core::error::Error for EventNameError {}

/// Maximum characters of the name of an event type.
const MAX_CHARACTERS: usize = 128;
const RESERVED: &str = "mcp.";
