//! Resource URIs: opaque text, compared code point by code point.

use alloc::{borrow::Cow, sync::Arc};
use core::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::name;
pub use crate::name::NameError as UriError;

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

impl Serialize for Uri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

/// However long it is.
impl<'de> Deserialize<'de> for Uri {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::new(&text, usize::MAX).map_err(D::Error::custom)
    }
}
