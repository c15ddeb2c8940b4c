/// What happens in a world. Times are in milliseconds; chances are in 1,000.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) events: u64,
    /// The time in which the events are published.
    pub(super) span: u64,
    pub(super) subscribers: usize,
    /// The endpoints are away between these times.
    pub(super) away: Vec<(u64, u64)>,
    /// The chance that an endpoint fails a message.
    pub(super) fails: u64,
    /// How often an endpoint fails one message at most while it is there.
    pub(super) max_failures: u32,
    /// The chance that an endpoint declines a message.
    pub(super) declines: u64,
    /// The chance of a crash at each output of the deliverer, and at each write.
    pub(super) crashes: u64,
    /// The chance that a read of the log or a call of the bus fails.
    pub(super) bus_fails: u64,
}

impl Plan {
    /// Many occurrences, and endpoints that come back from an outage for less than a minute.
    pub(super) fn great() -> Self {
        let hour = 3_600_000;
        Self {
            seed: 1,
            events: 10_000,
            span: 6 * hour,
            subscribers: 3,
            away: vec![(2 * hour, 3 * hour), (3 * hour + 40_000, 4 * hour)],
            fails: 333,
            max_failures: 2,
            declines: 0,
            crashes: 5,
            bus_fails: 20,
        }
    }

    /// Few occurrences, and endpoints that fail only while they are away.
    pub(super) fn quiet(seed: u64) -> Self {
        let minute = 60_000;
        Self {
            seed,
            events: 4 + seed % 20,
            span: 180 * minute,
            subscribers: 1 + usize::try_from(seed % 4).unwrap(),
            away: vec![(30 * minute, (40 + seed % 110) * minute)],
            fails: 0,
            max_failures: 0,
            declines: 0,
            crashes: seed % 3 * 10,
            bus_fails: seed % 5 * 20,
        }
    }

    /// Whether the endpoints accept every occurrence before it is abandoned.
    pub(super) fn is_gentle(&self) -> bool {
        self.max_failures <= 2 && self.declines == 0
    }

    /// Endpoints of which nothing can be hoped.
    pub(super) fn hostile(seed: u64) -> Self {
        let minute = 60_000;
        Self {
            seed,
            events: 40 + seed % 60,
            span: (5 + seed % 40) * minute,
            subscribers: 1 + usize::try_from(seed % 6).unwrap(),
            away: vec![(8 * minute, 8 * minute + (seed % 50) * minute)],
            fails: 200 + seed % 500,
            max_failures: u32::MAX,
            declines: seed % 7 * 10,
            crashes: seed % 4 * 10,
            bus_fails: seed % 5 * 20,
        }
    }
}
