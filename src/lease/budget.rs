use crate::clock::Millis;

/// How much one request may do for the streams of others. Runtimes bound the processor time of a request, and end one that exceeds it
/// together with its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Writes to streams after which a request is spent, whenever it had the socket. Default 100,000.
    pub writes: usize,
    /// Milliseconds between two sheddings where all requests are spent. Default 5,000.
    pub shed: Millis,
    /// Each shedding ends one in so many streams, and one at least. Default 8.
    pub shed_share: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            writes: 100_000,
            shed: Millis(5_000),
            shed_share: 8,
        }
    }
}
