use serde::{Serialize, Serializer};

/// JSON text that is written unchanged, only by [`to_text`](super::to_text).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<T>(pub(crate) T);

impl<T: AsRef<str>> Serialize for Raw<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0.as_ref().as_bytes())
    }
}
