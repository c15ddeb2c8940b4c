use alloc::vec::Vec;

use crate::{bus::registry::EdgeId, wire::Claim};

/// The streams of sessions that a shard holds, and what it has yet to say to the root about them.
#[derive(Debug, Default)]
pub(super) struct HeldSessions {
    held: Vec<(Claim, EdgeId)>,
    /// The streams that are not here, as the root has to learn.
    left: Vec<Claim>,
    changes: Vec<InterestChange>,
}

/// A change of a session's subscriptions that the root waits for.
#[derive(Debug)]
pub(super) struct InterestChange {
    pub(super) ticket: u32,
    pub(super) session: Claim,
    /// The call whose reply it waits for; `None`: the next one.
    call: Option<u64>,
}

impl HeldSessions {
    /// Returns the number of the newest stream of the claim's session, and an edge that holds it.
    pub(super) fn holder(&self, claim: &Claim) -> Option<(u64, EdgeId)> {
        let held = self.held.iter();
        let held = held.filter(|(held, _)| held.is_of_session(claim));
        let newest = held.max_by_key(|(held, _)| held.stream);
        newest.map(|(held, edge)| (held.stream, *edge))
    }

    /// Returns the edge that holds exactly this stream.
    pub(super) fn edge_of(&self, claim: &Claim) -> Option<EdgeId> {
        let holder = self.holder(claim);
        holder.and_then(|(stream, edge)| (stream == claim.stream).then_some(edge))
    }

    /// Records that an edge holds a stream, in place of the previous stream of its session.
    pub(super) fn insert(&mut self, claim: Claim, edge: EdgeId) {
        self.held.retain(|(held, _)| !held.is_of_session(&claim));
        self.left.retain(|left| !left.is_of_session(&claim));
        self.restore(claim, edge);
    }

    /// Restores what an edge held before a restart. Another edge may hold a stream of the same
    /// session: one that was closed, and whose connection has not ended yet.
    pub(super) fn restore(&mut self, claim: Claim, edge: EdgeId) {
        self.held.push((claim, edge));
    }

    /// Removes an edge. The stream that it held has left, unless another edge holds it.
    pub(super) fn remove(&mut self, edge: EdgeId) {
        if let Some(place) = self.held.iter().position(|(_, holder)| *holder == edge) {
            let (claim, _) = self.held.swap_remove(place);
            if self.edge_of(&claim).is_none() {
                self.left.push(claim);
            }
        }
    }

    /// Records that a stream is not here, unless the root will learn it; the call in flight names
    /// `pending`.
    pub(super) fn leave_out(&mut self, session: Claim, pending: &[Claim]) {
        let mut known = self.left.iter().chain(pending);
        if !known.any(|left| *left == session) {
            self.left.push(session);
        }
    }

    /// Records that the root waits until a stream that is here follows the subscriptions of its
    /// session.
    pub(super) fn push_change(&mut self, ticket: u32, session: Claim) {
        self.changes.push(InterestChange {
            ticket,
            session,
            call: None,
        });
    }

    /// Whether any of this needs another call.
    pub(super) fn is_due(&self) -> bool {
        !self.left.is_empty() || self.changes.iter().any(|change| change.call.is_none())
    }

    /// Lets all changes wait for this call. Adds the sessions that it has to name to `joined`, and
    /// returns the streams that have left.
    pub(super) fn assign(&mut self, call: u64, joined: &mut Vec<Claim>) -> Vec<Claim> {
        for change in &self.changes {
            let session = &change.session;
            if self.edge_of(session).is_some() && !joined.contains(session) {
                joined.push(session.clone());
            }
        }
        for change in &mut self.changes {
            change.call = Some(call);
        }
        core::mem::take(&mut self.left)
    }

    /// Lets everything wait for the next call, with the streams that the last one named as `left`.
    pub(super) fn ask_again(&mut self, left: Vec<Claim>) {
        for change in &mut self.changes {
            change.call = None;
        }
        for session in left {
            if self.holder(&session).is_none() {
                self.left.push(session);
            }
        }
    }

    /// Removes the changes that wait for this call.
    pub(super) fn take_changes(&mut self, call: u64) -> Vec<InterestChange> {
        let all = core::mem::take(&mut self.changes).into_iter();
        let (taken, left) = all.partition(|change: &InterestChange| change.call == Some(call));
        self.changes = left;
        taken
    }

    /// Drops what the root has yet to learn. Returns the tickets of the changes that it waits for.
    pub(super) fn finish(&mut self) -> impl Iterator<Item = u32> {
        self.left.clear();
        let changes = core::mem::take(&mut self.changes).into_iter();
        changes.map(|change| change.ticket)
    }
}
