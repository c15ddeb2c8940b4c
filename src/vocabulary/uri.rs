//! Resource URIs: opaque text, compared code point by code point.

use alloc::sync::Arc;
use core::ops::Deref;

pub use crate::vocabulary::name::NameError as UriError;
use crate::vocabulary::name::{self, serde_text};

/// A resource's URI: not empty, no control characters, never normalised.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uri(Arc<str>);

impl Uri {
    /// Takes `text` of at most `max_bytes` bytes as it stands.
    ///
    /// # Errors
    /// A [`UriError`]; nothing but emptiness, control characters and length is refused.
    pub fn new(text: &str, max_bytes: usize) -> Result<Self, UriError> {
        name::checked(text, max_bytes).map(Self)
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

// However long it is: how long a request may make it, its limits say.
serde_text!(Uri, |text| Uri::new(text, usize::MAX));
