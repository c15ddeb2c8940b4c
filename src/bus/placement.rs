use std::collections::BTreeMap;

/// One shard of a bus, as its root numbers them, from 1; no number is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u32);

/// Where an edge is to attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// At the root itself.
    Root,
    /// At this shard.
    Shard(ShardId),
}

/// Which shards there are, and who goes where: near its continent, where the fewest are.
#[derive(Debug)]
pub(super) struct Placement {
    per_shard: u32,
    seats: BTreeMap<ShardId, Seat>,
    last: u32,
}

#[derive(Debug)]
struct Seat {
    continent: Box<str>,
    /// As the shard told last, and those sent there since; `None` until it has told.
    edges: Option<u32>,
    is_leaving: bool,
}

impl Placement {
    pub(super) fn new(per_shard: u32, last: u32) -> Self {
        Self {
            per_shard,
            seats: BTreeMap::new(),
            last,
        }
    }

    pub(super) fn restore(&mut self, shard: ShardId, continent: &str, is_leaving: bool) {
        let seat = Seat {
            continent: continent.into(),
            edges: None,
            is_leaving,
        };
        self.last = self.last.max(shard.0);
        self.seats.insert(shard, seat);
    }

    /// Finds a place for one more edge where the root holds `own`; `None`: [`Placement::open`] one.
    pub(super) fn find(&mut self, continent: &str, own: u32) -> Option<Home> {
        if own < self.per_shard && self.open_seats().next().is_none() {
            return Some(Home::Root);
        }
        let (per_shard, seats) = (self.per_shard, self.seats.iter_mut());
        let (shard, seat) = seats
            .filter(|(_, seat)| !seat.is_leaving && *seat.continent == *continent)
            .filter(|(_, seat)| seat.taken() < per_shard)
            .min_by_key(|(_, seat)| seat.taken())?;
        seat.edges = seat.edges.map(|edges| edges + 1);
        Some(Home::Shard(*shard))
    }

    /// Opens a shard for the first edge that goes there.
    pub(super) fn open(&mut self, continent: &str) -> ShardId {
        self.last = self.last.saturating_add(1);
        let shard = ShardId(self.last);
        self.restore(shard, continent, false);
        self.report(shard, 1);
        shard
    }

    /// A shard told how many edges it holds.
    pub(super) fn report(&mut self, shard: ShardId, edges: u32) {
        if let Some(seat) = self.seats.get_mut(&shard) {
            seat.edges = Some(edges);
        }
    }

    /// A shard refused an edge for want of room.
    pub(super) fn fill(&mut self, shard: ShardId) {
        self.report(shard, self.per_shard);
    }

    /// The shards that are not needed any more. They do not fill up again at once: what is left
    /// takes their edges and stays half empty.
    pub(super) fn surplus(&self) -> Vec<ShardId> {
        let half = u64::from(self.per_shard / 2);
        let total: u64 = self.open_seats().map(|(_, seat)| self.known(seat)).sum();
        let is_surplus = |(shard, seat): &(ShardId, &Seat)| {
            total <= half || seat.edges == Some(0) || self.is_mergeable(*shard, seat, half)
        };
        let surplus = self.open_seats().filter(is_surplus);
        surplus.map(|(shard, _)| shard).collect()
    }

    pub(super) fn leave(&mut self, shard: ShardId) {
        if let Some(seat) = self.seats.get_mut(&shard) {
            seat.is_leaving = true;
        }
    }

    pub(super) fn close(&mut self, shard: ShardId) {
        self.seats.remove(&shard);
    }

    pub(super) fn shards(&self) -> impl Iterator<Item = (ShardId, &str, Option<u32>)> {
        let seats = self.seats.iter();
        seats.map(|(shard, seat)| (*shard, &*seat.continent, seat.edges))
    }

    /// Whether it is the emptiest of its continent, and the others have room enough.
    fn is_mergeable(&self, shard: ShardId, seat: &Seat, half: u64) -> bool {
        let (mut others, mut total) = (0, self.known(seat));
        for (other, near) in self.open_seats() {
            if other == shard || near.continent != seat.continent {
                continue;
            }
            if (self.known(near), other) < (self.known(seat), shard) {
                return false;
            }
            others += 1;
            total += self.known(near);
        }
        others > 0 && total <= others * half
    }

    fn open_seats(&self) -> impl Iterator<Item = (ShardId, &Seat)> {
        let seats = self.seats.iter().filter(|(_, seat)| !seat.is_leaving);
        seats.map(|(shard, seat)| (*shard, seat))
    }

    /// A shard that has not told counts as full where others might be closed for its sake.
    fn known(&self, seat: &Seat) -> u64 {
        seat.edges.unwrap_or(self.per_shard).into()
    }
}

impl Seat {
    /// A shard that has not told is tried: where it is full, it says so.
    fn taken(&self) -> u32 {
        self.edges.unwrap_or_default()
    }
}
