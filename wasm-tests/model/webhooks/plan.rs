/// What happens in a world. Times are in milliseconds; chances are in 1,000.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) events: u64,
    /// The time in which the events are published.
    pub(super) span: u64,
    pub(super) subscribers: usize,
    /// The endpoints are away between these times.
    pub(super) away: (u64, u64),
    /// The chance that an endpoint fails a message.
    pub(super) fails: u64,
    /// How often an endpoint fails one message at most while it is there.
    pub(super) most_failures: u32,
    /// The chance that an endpoint declines a message.
    pub(super) declines: u64,
    /// The chance of a crash at each output of the deliverer, and at each write.
    pub(super) crashes: u64,
    /// The chance that a read of the log or a call of the bus fails.
    pub(super) bus_fails: u64,
}

impl Plan {
    pub(super) fn great() -> Self {
        let hour = 3_600_000;
        Self {
            seed: 1,
            events: 10_000,
            span: 6 * hour,
            subscribers: 3,
            away: (2 * hour, 3 * hour),
            fails: 333,
            most_failures: 2,
            declines: 0,
            crashes: 5,
            bus_fails: 20,
        }
    }

    pub(super) fn hostile(seed: u64) -> Self {
        let minute = 60_000;
        Self {
            seed,
            events: 40 + seed % 60,
            span: (5 + seed % 40) * minute,
            subscribers: 1 + usize::try_from(seed % 6).unwrap(),
            away: (8 * minute, 8 * minute + (seed % 50) * minute),
            fails: 200 + seed % 500,
            most_failures: u32::MAX,
            declines: seed % 7 * 10,
            crashes: seed % 4 * 10,
            bus_fails: seed % 5 * 20,
        }
    }
}
