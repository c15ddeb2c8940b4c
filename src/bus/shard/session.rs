use alloc::vec::Vec;

use crate::{
    bus::registry::EdgeId,
    vocabulary::topic::Topic,
    wire::{BusMessage, Claim, SessionInterest},
};

use super::{EdgeCloseReason, Shard, ShardOutput};

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
struct InterestChange {
    ticket: u32,
    session: Claim,
    /// The call whose reply it waits for; `None`: the next one.
    call: Option<u64>,
}

impl HeldSessions {
    /// Returns the number of the newest stream of the claim's session, and an edge that holds it.
    fn holder(&self, claim: &Claim) -> Option<(u64, EdgeId)> {
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
    fn insert(&mut self, claim: Claim, edge: EdgeId) {
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
    fn leave_out(&mut self, session: Claim, pending: &[Claim]) {
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
    fn take_changes(&mut self, call: u64) -> Vec<InterestChange> {
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

/// The streams of sessions.
impl Shard {
    /// Whether a newer stream of its session is here.
    pub(super) fn has_newer(&self, session: &Claim) -> bool {
        let holder = self.sessions.holder(session);
        holder.is_some_and(|(stream, _)| stream > session.stream)
    }

    /// Records that this edge now holds the stream of a session.
    pub(super) fn take_over(&mut self, session: &Claim, edge: EdgeId) {
        let holder = self.sessions.holder(session);
        if holder.is_some_and(|(_, former)| former != edge) {
            self.give_way(session);
        }
        self.sessions.insert(session.clone(), edge);
    }

    /// Closes older streams of a session. If this stream is here, it is attached elsewhere: its
    /// edge here has to reconnect.
    pub(super) fn give_way(&mut self, session: &Claim) {
        match self.sessions.holder(session) {
            Some((stream, edge)) if stream < session.stream => {
                self.close(edge, EdgeCloseReason::Over);
            }
            Some((stream, edge)) if stream == session.stream => {
                self.close(edge, EdgeCloseReason::Lost);
            }
            _ => {}
        }
    }

    /// Reports to the root that the stream of a session is not here, unless that call is pending.
    pub(super) fn leave_out(&mut self, session: Claim) {
        let pending = self.flight.call().map_or(&[][..], |call| &call.sent.left);
        self.sessions.leave_out(session, pending);
    }

    pub(super) fn respond_to_interest_changes(&mut self, seq: u64, joined: &[SessionInterest]) {
        for change in self.sessions.take_changes(seq) {
            let InterestChange {
                ticket, session, ..
            } = change;
            let holder = self.sessions.edge_of(&session);
            if let Some(edge) = holder.filter(|edge| !self.edges.is_waiting(*edge)) {
                let mut joined = joined.iter();
                match joined.find(|interest| interest.session == session) {
                    Some(interest) => {
                        self.set_interest(edge, interest);
                        let frame =
                            BusMessage::session_interest(&interest.uris, interest.is_paused);
                        self.send(edge, frame);
                    }
                    None => self.close(edge, EdgeCloseReason::Over),
                }
            }
            self.outputs.push_back(ShardOutput::Done(ticket));
        }
    }

    /// Makes the stream of a session follow the session's subscriptions.
    pub(super) fn set_interest(&mut self, edge: EdgeId, interest: &SessionInterest) {
        for uri in &interest.uris {
            // An event of this topic may have arrived before the shard knew that it is wanted here.
            self.interest.want(Topic::Resource(uri.clone()));
            self.interest.confirm(Topic::Resource(uri.clone()));
        }
        if let Some(delta) = self.edges.set_resources(edge, &interest.uris) {
            self.release(delta.drop);
            self.outputs.push_back(ShardOutput::PersistAll(edge));
        }
    }
}
