use alloc::{boxed::Box, vec::Vec};
use core::cmp::Reverse;

/// The number of a shard, from 1; no number is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u32);

/// Where an edge has to attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Route {
    /// The root itself.
    Root,
    /// This shard.
    Shard(ShardId),
}

impl Route {
    /// Returns the shard; `None` for the root.
    pub fn shard(self) -> Option<ShardId> {
        match self {
            Self::Root => None,
            Self::Shard(shard) => Some(shard),
        }
    }
}

/// The shards, and where edges go: to the fullest shard of their continent that has room, so that
/// others become empty. Only an empty shard is closed, because the edges of any other one would
/// have to move. The exception is the end: once half of one object suffices for all edges, all
/// shards are closed.
#[derive(Debug)]
pub(super) struct Placement {
    per_shard: u32,
    shards: Vec<ShardInfo>,
    last: u32,
}

#[derive(Debug)]
struct ShardInfo {
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
            shards: Vec::new(),
            last,
        }
    }

    pub(super) fn restore(&mut self, shard: ShardId, continent: &str, seq: u64, is_leaving: bool) {
        self.last = self.last.max(shard.0);
        self.shards.push(ShardInfo {
            shard,
            seq,
            continent: continent.into(),
            edges: None,
            is_leaving,
        });
    }

    /// Finds a place for one more edge while the root holds `own` edges; `None` if a shard has to
    /// be opened with [`Placement::open`].
    pub(super) fn find(&mut self, continent: &str, own: u32) -> Option<Route> {
        if own < self.per_shard && self.open_shards().next().is_none() {
            return Some(Route::Root);
        }
        let per_shard = self.per_shard;
        let shards = self.shards.iter_mut();
        let info = shards
            .filter(|info| !info.is_leaving && *info.continent == *continent)
            .filter(|info| info.known_edges() < per_shard)
            .max_by_key(|info| info.rank())?;
        info.edges = info.edges.map(|edges| edges + 1);
        Some(Route::Shard(info.shard))
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
        if let Some(info) = self.info_mut(shard) {
            info.edges = Some(edges);
        }
    }

    /// Records that a shard is full.
    pub(super) fn fill(&mut self, shard: ShardId) {
        self.report(shard, self.per_shard);
    }

    /// Returns the shards that can be closed: the empty ones, or all.
    pub(super) fn surplus(&self) -> Vec<ShardId> {
        let half = u64::from(self.per_shard / 2);
        let total: u64 = self.open_shards().map(|info| self.known(info)).sum();
        let surplus = self.open_shards();
        let surplus = surplus.filter(|info| total <= half || info.edges == Some(0));
        surplus.map(|info| info.shard).collect()
    }

    pub(super) fn leave(&mut self, shard: ShardId) {
        if let Some(info) = self.info_mut(shard) {
            info.is_leaving = true;
        }
    }

    pub(super) fn close(&mut self, shard: ShardId) {
        self.shards.retain(|info| info.shard != shard);
    }

    pub(super) fn is_leaving(&self, shard: ShardId) -> bool {
        self.info(shard).is_some_and(|info| info.is_leaving)
    }

    /// Returns the number of a shard's last call; `None` if there is no such shard.
    pub(super) fn seq(&self, shard: ShardId) -> Option<u64> {
        self.info(shard).map(|info| info.seq)
    }

    pub(super) fn count(&mut self, shard: ShardId, seq: u64) {
        if let Some(info) = self.info_mut(shard) {
            info.seq = seq;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shards.is_empty()
    }

    pub(super) fn shards(&self) -> impl Iterator<Item = (ShardId, &str, Option<u32>)> {
        let shards = self.shards.iter();
        shards.map(|info| (info.shard, &*info.continent, info.edges))
    }

    fn open_shards(&self) -> impl Iterator<Item = &ShardInfo> {
        self.shards.iter().filter(|info| !info.is_leaving)
    }

    fn info(&self, shard: ShardId) -> Option<&ShardInfo> {
        self.shards.iter().find(|info| info.shard == shard)
    }

    fn info_mut(&mut self, shard: ShardId) -> Option<&mut ShardInfo> {
        self.shards.iter_mut().find(|info| info.shard == shard)
    }

    /// Returns the number of edges of a shard. One that has not reported counts as full, so that no
    /// shard is closed on its account.
    fn known(&self, info: &ShardInfo) -> u64 {
        info.edges.unwrap_or(self.per_shard).into()
    }
}

impl ShardInfo {
    /// Returns the number of edges. A shard that has not reported counts as empty; if it is full, it
    /// refuses.
    fn known_edges(&self) -> u32 {
        self.edges.unwrap_or_default()
    }

    /// Returns the key of the order in which shards are tried, the greatest first: the fullest and
    /// of those the oldest, then the newest that has not reported, because older ones filled up
    /// before it was opened.
    fn rank(&self) -> (u32, Option<ShardId>, Reverse<ShardId>) {
        let unreported = self.edges.is_none().then_some(self.shard);
        (self.known_edges(), unreported, Reverse(self.shard))
    }
}
