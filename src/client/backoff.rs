use crate::clock::Millis;

/// Exponential backoff with full jitter: each wait is drawn between 0 and a ceiling that doubles
/// from half a second to 30 seconds, so that clients that were disconnected together do not come
/// back together.
#[derive(Debug)]
pub(crate) struct Backoff {
    attempts: u32,
    /// The state of a `SplitMix64` generator.
    random: u64,
}

impl Backoff {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            attempts: 0,
            random: seed,
        }
    }

    /// Returns the wait before the next attempt.
    pub(crate) fn next_wait(&mut self) -> Millis {
        let ceiling = (MIN_CEILING_MS << self.attempts.min(MAX_DOUBLINGS)).min(MAX_CEILING_MS);
        self.attempts = self.attempts.saturating_add(1);
        Millis(self.next_random() % (ceiling + 1))
    }

    /// Starts again at the first ceiling.
    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
    }

    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// The ceiling of the first wait.
const MIN_CEILING_MS: u64 = 500;
/// The ceiling of any wait.
const MAX_CEILING_MS: u64 = 30_000;
/// The ceiling doubles with each attempt, at most this number of times.
const MAX_DOUBLINGS: u32 = 6;
