use serde::{Deserialize, Serialize};

use crate::clock::Millis;

/// How much of the log is kept: whichever limit is reached first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Window {
    /// Occurrences of one name. Default 10,000.
    pub events: usize,
    /// Milliseconds since an occurrence was published. Default 24 hours.
    pub age_ms: Millis,
    /// Bytes of all occurrences together. Default 64 MiB.
    pub bytes: u64,
    /// Names that occurrences have. Default 1,000.
    pub names: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            events: 10_000,
            age_ms: Millis(86_400_000),
            bytes: 64 << 20,
            names: 1_000,
        }
    }
}

impl Window {
    /// Occurrences of one name that are removed together, so that not every publish removes one.
    pub(super) fn batch(&self) -> usize {
        (self.events / BATCHES).max(1)
    }

    /// The bytes down to which the log is trimmed once it exceeds its limit.
    pub(super) fn bytes_after_trim(&self) -> u64 {
        self.bytes - self.bytes / BATCHES as u64
    }

    /// Milliseconds after which the log looks for occurrences that are too old.
    pub(super) fn look_ms(&self) -> Millis {
        Millis(self.age_ms.0 / BATCHES as u64)
    }
}

const BATCHES: usize = 10;
