use mcp_listen::{clock::Millis, fanout::StreamId};

use crate::{
    invariant::{Violation, ensure},
    isolate::{Isolate, Member},
    world::World,
};

/// The promises of the socket that streams share.
impl World {
    /// A running request does not wait for the connection for long.
    pub(crate) fn check_leases(&mut self) -> Result<(), Violation> {
        let (now, max_writes) = (self.now, self.budget().writes);
        for isolate in &mut self.isolates {
            let is_served = isolate.is_served();
            let peers = isolate.members.len();
            for member in &mut isolate.members {
                member.check_wait(is_served, peers, now, max_writes)?;
            }
            let is_idle = !is_served && isolate.members.iter().any(|it| !it.is_stalled);
            if !is_idle {
                isolate.idle_since = None;
                continue;
            }
            let since = *isolate.idle_since.get_or_insert(now);
            ensure(
                "a shared connection is served again soon",
                now - since <= MAX_IDLE,
                || format!("it is not since {} ms", (now - since).0),
            )?;
        }
        Ok(())
    }

    pub(crate) fn check_taken(&self, place: usize, edge: StreamId) -> Result<(), Violation> {
        let isolate = &self.isolates[place];
        let is_spent = isolate.member(edge).is_some_and(|it| self.is_spent(it));
        ensure(
            "a request that has spent its budget never owns the shared socket again",
            !is_spent || isolate.members.len() == 1,
            || format!("{edge:?} of isolate {place} took it"),
        )
    }

    pub(crate) fn check_released(&self, place: usize, edge: StreamId) -> Result<(), Violation> {
        let member = self.isolates[place].member(edge);
        let may_keep = member.is_some_and(|it| !it.is_stalled && !self.is_spent(it));
        ensure(
            "a request that runs and is not spent keeps the socket",
            !may_keep,
            || format!("{edge:?} of isolate {place} lost it"),
        )
    }

    pub(crate) fn check_ends(&self, place: usize, edges: &[StreamId]) -> Result<(), Violation> {
        let isolate = &self.isolates[place];
        let Isolate {
            members, ended_at, ..
        } = isolate;
        let is_due = ended_at.is_none_or(|at| at + self.budget().end_interval.into() <= self.now);
        // While nothing is served, requests that do not run, or have not run long enough to notice,
        // do not count.
        let is_new = |since| !isolate.is_served() && self.now - since <= MAX_LOOK;
        let is_out = |it: &Member| {
            self.is_spent(it) || is_new(it.runs_since) || !isolate.is_served() && it.is_stalled
        };
        let are_few = edges.len() <= members.len().div_ceil(self.budget().end_share);
        ensure(
            "a few streams end, and only if no fresh request can continue",
            is_due && are_few && members.iter().all(is_out),
            || format!("{edges:?} of isolate {place} ended"),
        )
    }

    fn is_spent(&self, member: &Member) -> bool {
        member.writes >= self.budget().writes
    }
}

impl Member {
    /// A request that runs and is not spent takes over from one that does not run.
    fn check_wait(
        &mut self,
        is_served: bool,
        peers: usize,
        now: Millis,
        max_writes: usize,
    ) -> Result<(), Violation> {
        self.peers = self.peers.max(peers);
        if is_served || self.is_stalled || self.writes >= max_writes {
            self.waits_since = None;
            return Ok(());
        }
        let waited = now - *self.waits_since.get_or_insert(now);
        ensure(
            "a request that runs and is not spent takes over soon",
            waited <= max_takeover(self.peers),
            || format!("{:?} waits since {} ms", self.id, waited.0),
        )
    }
}

/// The time until a request that runs and is not spent has taken over, with this many members: its
/// turn to check comes, after a proof that came just in time, and no proof comes.
pub(crate) fn max_takeover(peers: usize) -> Millis {
    Millis(TURN.0 * peers as u64 + 2 * PROOF.0)
}

/// The longest time for each member until a request checks in its turn.
const TURN: Millis = Millis(1_500);
/// The time for a proof.
const PROOF: Millis = Millis(1_000);
/// The time until a request checks in its turn, and finds that no proof comes.
const MAX_LOOK: Millis = Millis(13_000);
/// A spent request finds three times that none comes; some streams end, and one that returns
/// finds it too.
const MAX_IDLE: Millis = Millis(60_000);
