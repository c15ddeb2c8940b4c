use alloc::{boxed::Box, vec::Vec};

use crate::{bus::registry::EdgeId, sorted::Map, wire::Claim};

/// The streams of sessions that a shard holds, and what it has yet to say to the root about them.
#[derive(Debug, Default)]
pub(super) struct HeldSessions {
    /// The claims of the edges, as text.
    claims: Map<EdgeId, Box<str>>,
    /// The edge that holds the newest stream of each session.
    newest: Map<Box<str>, EdgeId>,
    /// Restored edges whose session has another edge in `newest`.
    others: Vec<EdgeId>,
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
    /// Returns the number of the newest stream of the claim's session, and the edge that holds it.
    pub(super) fn holder(&self, claim: &Claim) -> Option<(u64, EdgeId)> {
        let edge = *self.newest.get(&session_of(claim))?;
        let held = Claim::from_text(self.claims.get(&edge)?)?;
        Some((held.stream, edge))
    }

    /// Returns the edge that holds exactly this stream.
    pub(super) fn edge_of(&self, claim: &Claim) -> Option<EdgeId> {
        let holder = self.holder(claim);
        holder.and_then(|(stream, edge)| (stream == claim.stream).then_some(edge))
    }

    /// Records that an edge holds a stream, in place of the previous stream of its session. A
    /// stream of another session that the edge held has left.
    pub(super) fn insert(&mut self, claim: &Claim, edge: EdgeId) {
        while let Some((_, former)) = self.holder(claim) {
            self.take(former);
        }
        self.remove(edge);
        self.left.retain(|left| !left.is_of_session(claim));
        self.restore(claim, edge);
    }

    /// Restores what an edge held before a restart. Another edge may hold a stream of the same
    /// session: one that was closed, and whose connection has not ended yet.
    pub(super) fn restore(&mut self, claim: &Claim, edge: EdgeId) {
        let newest = self.holder(claim);
        self.claims.insert(edge, claim.to_text().into());
        if newest.is_none_or(|(stream, _)| stream <= claim.stream) {
            self.others
                .extend(self.newest.insert(session_of(claim), edge));
        }
    }

    /// Removes an edge. The stream that it held has left, unless another edge holds it.
    pub(super) fn remove(&mut self, edge: EdgeId) {
        if let Some(claim) = self.take(edge)
            && self.edge_of(&claim).is_none()
        {
            self.left.push(claim);
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
        // Those that wait for the next call are the last ones.
        let last = self.changes.last();
        !self.left.is_empty() || last.is_some_and(|change| change.call.is_none())
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
        let waits = |change: &mut InterestChange| change.call == Some(call);
        self.changes.extract_if(.., waits).collect()
    }

    /// Drops what the root has yet to learn. Returns the tickets of the changes that it waits for.
    pub(super) fn finish(&mut self) -> impl Iterator<Item = u32> {
        self.left.clear();
        let changes = core::mem::take(&mut self.changes).into_iter();
        changes.map(|change| change.ticket)
    }

    /// Removes an edge, whose stream another one may hold too. Returns the stream that it held.
    fn take(&mut self, edge: EdgeId) -> Option<Claim> {
        let text = self.claims.remove(&edge)?;
        let claim = Claim::from_text(&text)?;
        let session = session_of(&claim);
        self.others.retain(|other| *other != edge);
        if self.newest.get(&session) == Some(&edge) {
            self.newest.remove(&session);
            let mut others = self.others.iter();
            if let Some(other) = others.find(|other| self.claims.get(other) == Some(&text)) {
                self.newest.insert(session, *other);
            }
        }
        Some(claim)
    }
}

/// Returns a text that names the session of a claim, and no other session.
fn session_of(claim: &Claim) -> Box<str> {
    let session = Claim {
        stream: 0,
        ..claim.clone()
    };
    session.to_text().into()
}
