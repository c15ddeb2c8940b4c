use mcp_listen::{bus::ShardId, clock::Millis, fanout::StreamId, isolate, upstream::Patience};

use crate::{absence::Absence, host::ATTACH, network::SocketId};

/// Streams of one isolate on a connection to the bus, as `js/cloudflare/shared-line.ts` holds
/// them: the core's part, the requests of the streams, and the one among them that has the socket.
#[derive(Debug)]
pub(crate) struct Isolate {
    pub(crate) core: isolate::Isolate,
    /// The oldest first.
    pub(crate) riders: Vec<Rider>,
    /// The stream whose request has the socket.
    pub(crate) holder: Option<StreamId>,
    pub(crate) socket: Option<SocketId>,
    /// The log that there was when it was opened.
    pub(crate) epoch: Box<str>,
    /// The shard that it remembers; none: it asks the root.
    pub(crate) home: Option<ShardId>,
    /// How often it was sent elsewhere.
    pub(crate) moves: usize,
    /// The frame that the socket begins with, and whether anything came in answer.
    pub(crate) attach_frame: String,
    pub(crate) has_heard: bool,
    /// How often the socket was sent on before anything came.
    pub(crate) hops: usize,
    pub(crate) absence: Option<Absence>,
    /// Up to which event the bus had come that confirms just now.
    pub(crate) confirmed: usize,
    /// What the trial has shown: whether requests can write to streams of others.
    pub(crate) verdict: Option<bool>,
    pub(crate) trials: u8,
    /// When another request finds that the holder does nothing.
    pub(crate) takes_over_at: Option<Millis>,
    /// Not before this are streams shed again.
    pub(crate) sheds_at: Millis,
}

/// A stream on a shared line, and its request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rider {
    pub(crate) id: StreamId,
    pub(crate) client: usize,
    /// How many writes to streams its request has done while it had the socket.
    pub(crate) writes: u32,
    /// Whether its request does nothing by itself: others still write to its stream.
    pub(crate) is_stalled: bool,
    /// Whether it was told that it is attached.
    pub(crate) is_told: bool,
    /// Up to which event the bus had come when it confirmed, where the stream waited for that.
    pub(crate) head: usize,
}

impl Rider {
    pub(crate) fn of(client: usize, id: StreamId) -> Self {
        Self {
            id,
            client,
            writes: 0,
            is_stalled: false,
            is_told: false,
            head: 0,
        }
    }
}

impl Isolate {
    pub(crate) fn new(verify: Millis) -> Self {
        let patience = Patience {
            attach: ATTACH,
            verify,
        };
        Self {
            core: isolate::Isolate::new(patience, Millis(0)),
            riders: Vec::new(),
            holder: None,
            socket: None,
            epoch: Box::default(),
            home: None,
            moves: 0,
            attach_frame: String::new(),
            has_heard: false,
            hops: 0,
            absence: None,
            confirmed: 0,
            verdict: None,
            trials: 0,
            takes_over_at: None,
            sheds_at: Millis(0),
        }
    }

    pub(crate) fn rider(&self, id: StreamId) -> Option<&Rider> {
        self.riders.iter().find(|rider| rider.id == id)
    }

    pub(crate) fn rider_mut(&mut self, id: StreamId) -> Option<&mut Rider> {
        self.riders.iter_mut().find(|rider| rider.id == id)
    }

    fn held_by(&self) -> Option<&Rider> {
        self.rider(self.holder?)
    }

    /// Whether the request that has the socket does what is to be done.
    pub(crate) fn is_served(&self) -> bool {
        self.held_by().is_some_and(|rider| !rider.is_stalled)
    }

    pub(crate) fn is_stalled(&self) -> bool {
        self.riders.iter().any(|rider| rider.is_stalled)
    }

    /// The streams whose requests may have the socket.
    pub(crate) fn fresh(&self, budget: u32) -> Vec<StreamId> {
        let fresh = self.riders.iter().filter(|rider| rider.writes < budget);
        fresh.map(|rider| rider.id).collect()
    }

    fn is_spent(&self, budget: u32) -> bool {
        self.held_by().is_some_and(|rider| rider.writes >= budget)
    }

    /// Whether a fresh request has to go on in place of the one that has the socket.
    pub(crate) fn must_retire(&self, budget: u32) -> bool {
        self.is_spent(budget) && !self.fresh(budget).is_empty()
    }

    /// Whether all requests are spent, and it is time to shed some streams.
    pub(crate) fn must_shed(&self, budget: u32, now: Millis) -> bool {
        self.riders.len() > 1 && now >= self.sheds_at && self.fresh(budget).is_empty()
    }

    pub(crate) fn count(&mut self, writes: usize) {
        if let Some(rider) = self.holder.and_then(|id| self.rider_mut(id)) {
            rider.writes += u32::try_from(writes).unwrap_or(u32::MAX);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Millis> {
        let of_bus = self.core.poll_timeout().filter(|_| self.is_served());
        let of_streams = self.core.streams().poll_timeout();
        let all = [of_bus, of_streams, self.takes_over_at];
        all.into_iter().flatten().min()
    }

    /// Nobody serves the line: one of the other requests finds out, each in its turn.
    pub(crate) fn watch(&mut self, now: Millis, random: f64) {
        if self.is_served() || self.riders.is_empty() {
            self.takes_over_at = None;
            return;
        }
        let turns = u32::try_from(self.riders.len()).unwrap_or(u32::MAX);
        let turn = f64::from(turns.min(MOST_TURNS)) * WATCH_MS * (0.5 + random);
        let at = now + Millis(span(turn)) + PROOF;
        self.takes_over_at.get_or_insert(at);
    }
}

/// As `js/cloudflare/shared-line.ts` has them.
const WATCH_MS: f64 = 1_000.0;
const MOST_TURNS: u32 = 15;
const PROOF: Millis = Millis(1_000);
pub(crate) const SHED: Millis = Millis(5_000);
pub(crate) const SHED_SHARE: usize = 8;
/// A socket that is sent on before anything came asks for another place by itself, so many times.
pub(crate) const MOST_HOPS: usize = 3;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "spans are short, and the cast saturates"
)]
fn span(ms: f64) -> u64 {
    ms as u64
}
