//! Resource URIs: opaque text, compared code point by code point.

use alloc::sync::Arc;
use core::ops::Deref;

pub use crate::vocabulary::name::NameError as UriError;
use crate::vocabulary::name::{self, serde_text};

/// A resource's URI: not empty, without control characters, never normalized.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uri(Arc<str>);

impl Uri {
    /// Checks `text`, of at most `max_bytes` bytes, without normalizing it.
    ///
    /// # Errors
    /// A [`UriError`]; only emptiness, control characters and length are refused.
    pub fn new(text: &str, max_bytes: usize) -> Result<Self, UriError> {
        name::checked(text, max_bytes).map(Self)
    }

    /// Returns the URI under which buses carry changes of the list of event types, so that a bus of
    /// any version forwards them. No resource has it.
    #[inline(never)]
    pub(crate) fn of_event_types() -> Self {
        Self(EVENT_TYPES.into())
    }

    #[inline(never)]
    pub(crate) fn is_of_event_types(&self) -> bool {
        &*self.0 == EVENT_TYPES
    }
}

impl Deref for Uri {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl alloc::borrow::Borrow<str> for Uri {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The prefix of the URIs of event types, without a name.
const EVENT_TYPES: &str = "mcp-event:";

// The length has no limit here: those of a request have been applied before.
serde_text!(Uri, |text| Uri::new(text, usize::MAX));
