//! Time, as passed in by the caller.

use core::{
    ops::{Add, Sub},
    time::Duration,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A time of the host's monotonic clock in milliseconds, or the span between two such times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// Converts a host's time from a number; NaN and negative numbers become zero.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and fractions of a millisecond do not matter"
    )]
    pub fn from_f64(millis: f64) -> Self {
        Self(millis as u64)
    }

    /// Converts the time to the number type of hosts.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a clock stays far below 2^53 ms"
    )]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl From<Duration> for Millis {
    // Each copy of it would weigh in WebAssembly.
    #[inline(never)]
    fn from(span: Duration) -> Self {
        let seconds = span.as_secs().min(MAX_SECONDS);
        Self(seconds * 1_000 + u64::from(span.subsec_millis()))
    }
}

impl From<Millis> for Duration {
    fn from(span: Millis) -> Self {
        Self::from_millis(span.0)
    }
}

impl Add for Millis {
    type Output = Self;

    fn add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Millis {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

/// Reads a span in milliseconds.
pub(crate) fn read_span<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    Millis::deserialize(from).map(Duration::from)
}

/// Writes a span in milliseconds.
pub(crate) fn write_span<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
    Millis::from(*span).serialize(to)
}

/// The seconds of the longest span. Products of 128 bits would weigh more in WebAssembly.
const MAX_SECONDS: u64 = u64::MAX / 1_000 - 1;
/// The greatest number of milliseconds that every reader of JSON reads exactly: 2^53 - 1.
pub(crate) const MAX_SAFE_MILLIS: f64 = 9_007_199_254_740_991.0;
