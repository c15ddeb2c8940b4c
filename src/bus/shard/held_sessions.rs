use alloc::vec::Vec;

use crate::{bus::registry::EdgeId, wire::Claim};

/// The streams of sessions that a shard holds, and the edge of each.
#[derive(Debug, Default)]
pub(super) struct HeldSessions(Vec<(Claim, EdgeId)>);

impl HeldSessions {
    /// Returns the number of the stream of the claim's session, and the edge that holds it.
    pub(super) fn holder(&self, claim: &Claim) -> Option<(u64, EdgeId)> {
        let mut held = self.0.iter();
        let held = held.find(|(held, _)| held.is_of_session(claim));
        held.map(|(held, edge)| (held.stream, *edge))
    }

    /// Returns the edge that holds exactly this stream.
    pub(super) fn edge_of(&self, claim: &Claim) -> Option<EdgeId> {
        let holder = self.holder(claim);
        holder.and_then(|(stream, edge)| (stream == claim.stream).then_some(edge))
    }

    /// Records that an edge holds a stream, in place of the former stream of its session.
    pub(super) fn insert(&mut self, claim: Claim, edge: EdgeId) {
        self.0.retain(|(held, _)| !held.is_of_session(&claim));
        self.restore(claim, edge);
    }

    /// Restores what an edge held before a restart.
    pub(super) fn restore(&mut self, claim: Claim, edge: EdgeId) {
        self.0.push((claim, edge));
    }

    /// Removes an edge. Returns the stream that it held.
    pub(super) fn remove(&mut self, edge: EdgeId) -> Option<Claim> {
        let place = self.0.iter().position(|(_, holder)| *holder == edge)?;
        Some(self.0.swap_remove(place).0)
    }
}
