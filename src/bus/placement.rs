use alloc::{boxed::Box, vec::Vec};

/// The number of a shard, from 1; no number is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u32);

/// Where an edge has to attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The root itself.
    Root,
    /// This shard.
    Shard(ShardId),
}

/// The shards, and where edges go: to the shard of their continent that has the fewest edges.
#[derive(Debug)]
pub(super) struct Placement {
    per_shard: u32,
    seats: Vec<Seat>,
    last: u32,
}

#[derive(Debug)]
struct Seat {
    shard: ShardId,
    /// The number of the shard's last call.
    seq: u64,
    continent: Box<str>,
    /// The number of edges that the shard last reported, and those sent there since; `None` until
    /// it reports.
    edges: Option<u32>,
    is_leaving: bool,
}

impl Placement {
    pub(super) fn new(per_shard: u32, last: u32) -> Self {
        Self {
            per_shard,
            seats: Vec::new(),
            last,
        }
    }

    pub(super) fn restore(&mut self, shard: ShardId, continent: &str, seq: u64, is_leaving: bool) {
        self.last = self.last.max(shard.0);
        self.seats.push(Seat {
            shard,
            seq,
            continent: continent.into(),
            edges: None,
            is_leaving,
        });
    }

    /// Finds a place for one more edge while the root holds `own` edges; `None` if a shard has to
    /// be opened with [`Placement::open`].
    pub(super) fn find(&mut self, continent: &str, own: u32) -> Option<Home> {
        if own < self.per_shard && self.open_seats().next().is_none() {
            return Some(Home::Root);
        }
        let per_shard = self.per_shard;
        let seats = self.seats.iter_mut();
        let seat = seats
            .filter(|seat| !seat.is_leaving && *seat.continent == *continent)
            .filter(|seat| seat.taken() < per_shard)
            .min_by_key(|seat| seat.taken())?;
        seat.edges = seat.edges.map(|edges| edges + 1);
        Some(Home::Shard(seat.shard))
    }

    /// Opens a shard for its first edge.
    pub(super) fn open(&mut self, continent: &str) -> ShardId {
        self.last = self.last.saturating_add(1);
        let shard = ShardId(self.last);
        self.restore(shard, continent, 0, false);
        self.report(shard, 1);
        shard
    }

    /// Records the number of edges that a shard holds.
    pub(super) fn report(&mut self, shard: ShardId, edges: u32) {
        if let Some(seat) = self.seat_mut(shard) {
            seat.edges = Some(edges);
        }
    }

    /// Records that a shard is full.
    pub(super) fn fill(&mut self, shard: ShardId) {
        self.report(shard, self.per_shard);
    }

    /// Returns the shards that can be closed. This leaves room: the remaining shards take their
    /// edges and stay half empty.
    pub(super) fn surplus(&self) -> Vec<ShardId> {
        let half = u64::from(self.per_shard / 2);
        let total: u64 = self.open_seats().map(|seat| self.known(seat)).sum();
        let is_surplus =
            |seat: &&Seat| total <= half || seat.edges == Some(0) || self.is_mergeable(seat, half);
        let surplus = self.open_seats().filter(is_surplus);
        surplus.map(|seat| seat.shard).collect()
    }

    pub(super) fn leave(&mut self, shard: ShardId) {
        if let Some(seat) = self.seat_mut(shard) {
            seat.is_leaving = true;
        }
    }

    pub(super) fn close(&mut self, shard: ShardId) {
        self.seats.retain(|seat| seat.shard != shard);
    }

    pub(super) fn is_leaving(&self, shard: ShardId) -> bool {
        self.seat(shard).is_some_and(|seat| seat.is_leaving)
    }

    /// Returns the number of a shard's last call; `None` if there is no such shard.
    pub(super) fn seq(&self, shard: ShardId) -> Option<u64> {
        self.seat(shard).map(|seat| seat.seq)
    }

    pub(super) fn count(&mut self, shard: ShardId, seq: u64) {
        if let Some(seat) = self.seat_mut(shard) {
            seat.seq = seq;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    pub(super) fn shards(&self) -> impl Iterator<Item = (ShardId, &str, Option<u32>)> {
        let seats = self.seats.iter();
        seats.map(|seat| (seat.shard, &*seat.continent, seat.edges))
    }

    /// Whether a shard has the fewest edges of its continent and the others have room for them.
    fn is_mergeable(&self, seat: &Seat, half: u64) -> bool {
        let (mut others, mut total) = (0, self.known(seat));
        for near in self.open_seats() {
            if near.shard == seat.shard || near.continent != seat.continent {
                continue;
            }
            if (self.known(near), near.shard) < (self.known(seat), seat.shard) {
                return false;
            }
            others += 1;
            total += self.known(near);
        }
        others > 0 && total <= others * half
    }

    fn open_seats(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().filter(|seat| !seat.is_leaving)
    }

    fn seat(&self, shard: ShardId) -> Option<&Seat> {
        self.seats.iter().find(|seat| seat.shard == shard)
    }

    fn seat_mut(&mut self, shard: ShardId) -> Option<&mut Seat> {
        self.seats.iter_mut().find(|seat| seat.shard == shard)
    }

    /// Returns the number of edges of a shard. One that has not reported counts as full, so that no
    /// shard is closed on its account.
    fn known(&self, seat: &Seat) -> u64 {
        seat.edges.unwrap_or(self.per_shard).into()
    }
}

impl Seat {
    /// Returns the number of edges. A shard that has not reported counts as empty and is tried; if
    /// it is full, it refuses.
    fn taken(&self) -> u32 {
        self.edges.unwrap_or_default()
    }
}
