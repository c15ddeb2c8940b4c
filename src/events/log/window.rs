use core::time::Duration;

use serde::Deserialize;

use crate::clock::{Millis, read_span};

/// How much of the log is kept: whichever limit is reached first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Window {
    /// Occurrences of one name. Default 10,000.
    pub events: usize,
    /// How long ago an occurrence was published. Default 24 hours.
    #[serde(rename = "ageMs", deserialize_with = "read_span")]
    pub age: Duration,
    /// Bytes of all occurrences together. Default 64 MiB.
    pub bytes: u64,
    /// Names that occurrences have. Default 1,000.
    pub names: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            events: 10_000,
            age: Duration::from_hours(24),
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

    /// How long after it was published an occurrence is too old.
    pub(super) fn age(&self) -> Millis {
        self.age.into()
    }

    /// Milliseconds after which the log looks for occurrences that are too old.
    pub(super) fn look_ms(&self) -> Millis {
        Millis(self.age().0 / BATCHES as u64)
    }
}

/// What is too old or too much is removed in batches of this fraction (1/n) of the limit.
const BATCHES: usize = 10;
