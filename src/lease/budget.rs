use core::time::Duration;

/// Limits how much one request does for the streams of others. Runtimes limit the CPU time of a
/// request, and end a request that exceeds it together with its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Writes to streams after which a request is spent, counted over all of its terms. Default
    /// 100,000.
    pub writes: usize,
    /// How often streams end while all requests are spent. Default 5 s.
    pub end_interval: Duration,
    /// One in this many streams ends each time, and at least one. Default 8.
    pub end_share: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            writes: 100_000,
            end_interval: Duration::from_secs(5),
            end_share: 8,
        }
    }
}
