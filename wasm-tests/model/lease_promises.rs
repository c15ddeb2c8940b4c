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
        let now = self.now;
        for isolate in &mut self.isolates {
            let is_idle = !isolate.is_served() && isolate.members.iter().any(|it| !it.is_stalled);
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

    pub(crate) fn check_shed(&self, place: usize, edges: &[StreamId]) -> Result<(), Violation> {
        let isolate = &self.isolates[place];
        let Isolate {
            members, shed_at, ..
        } = isolate;
        let is_due = shed_at.is_none_or(|at| at + self.budget().shed <= self.now);
        // While nothing is served, requests that do not run, or have not run long enough to notice,
        // do not count.
        let is_new = |since| !isolate.is_served() && self.now - since <= MAX_LOOK;
        let is_out = |it: &Member| {
            self.is_spent(it) || is_new(it.runs_since) || !isolate.is_served() && it.is_stalled
        };
        let are_few = edges.len() <= members.len().div_ceil(self.budget().shed_share);
        ensure(
            "a few streams are shed, and only if no fresh request can continue",
            is_due && are_few && members.iter().all(is_out),
            || format!("{edges:?} of isolate {place} were shed"),
        )
    }

    fn is_spent(&self, member: &Member) -> bool {
        member.writes >= self.budget().writes
    }
}

/// The time until a request checks in its turn, and finds that no proof comes.
const MAX_LOOK: Millis = Millis(13_000);
/// A spent request finds three times that none comes; some streams are shed, and one that returns
/// finds it too.
const MAX_IDLE: Millis = Millis(60_000);
