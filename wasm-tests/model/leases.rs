use mcp_listen::{clock::Millis, fanout::StreamId};

use crate::{
    invariant::{Violation, hold},
    isolate::{Isolate, Rider},
    world::World,
};

/// The promises of the socket that streams share.
impl World {
    /// A running request does not wait for the connection for long.
    pub(crate) fn check_leases(&mut self) -> Result<(), Violation> {
        let now = self.now;
        for isolate in &mut self.isolates {
            let is_idle = !isolate.is_served() && isolate.riders.iter().any(|it| !it.is_stalled);
            if !is_idle {
                isolate.idle_since = None;
                continue;
            }
            let since = *isolate.idle_since.get_or_insert(now);
            hold(
                "a shared connection is served again soon",
                now - since <= MAX_IDLE,
                || format!("it is not since {} ms", (now - since).0),
            )?;
        }
        Ok(())
    }

    pub(crate) fn check_taken(&self, place: usize, edge: StreamId) -> Result<(), Violation> {
        let isolate = &self.isolates[place];
        let is_spent = isolate.rider(edge).is_some_and(|it| self.is_spent(it));
        hold(
            "a request that has spent its budget never owns the shared socket again",
            !is_spent || isolate.riders.len() == 1,
            || format!("{edge:?} of isolate {place} took it"),
        )
    }

    pub(crate) fn check_released(&self, place: usize, edge: StreamId) -> Result<(), Violation> {
        let rider = self.isolates[place].rider(edge);
        let may_keep = rider.is_some_and(|it| !it.is_stalled && !self.is_spent(it));
        hold(
            "a request that runs and is not spent keeps the socket",
            !may_keep,
            || format!("{edge:?} of isolate {place} lost it"),
        )
    }

    pub(crate) fn check_shed(&self, place: usize, edges: &[StreamId]) -> Result<(), Violation> {
        let isolate = &self.isolates[place];
        let Isolate {
            riders, shed_at, ..
        } = isolate;
        let is_due = shed_at.is_none_or(|at| at + self.budget().shed <= self.now);
        // While nothing is served, requests that do not run, or have not run long enough to notice,
        // do not count.
        let is_new = |since| !isolate.is_served() && self.now - since <= MAX_LOOK;
        let is_out = |it: &Rider| {
            self.is_spent(it) || is_new(it.runs_since) || !isolate.is_served() && it.is_stalled
        };
        let are_few = edges.len() <= riders.len().div_ceil(self.budget().shed_share);
        hold(
            "a few streams are shed, and only if no fresh request can continue",
            is_due && are_few && riders.iter().all(is_out),
            || format!("{edges:?} of isolate {place} were shed"),
        )
    }

    fn is_spent(&self, rider: &Rider) -> bool {
        rider.writes >= self.budget().writes
    }
}

/// The time until a request checks in its turn, and finds that no proof comes.
const MAX_LOOK: Millis = Millis(13_000);
/// A spent request finds three times that none comes; some streams are shed, and one that returns
/// finds it too.
const MAX_IDLE: Millis = Millis(60_000);
