use core::slice;

use crate::{
    bus::registry::EdgeId,
    vocabulary::topic::Topic,
    wire::{BusMessage, Claim, SessionInterest},
};

use super::{EdgeCloseReason, Shard, ShardOutput, held_sessions::InterestChange};

/// The subscriptions of sessions in a reply, which has them in the order of the call. Sessions that
/// are looked up in this order are found without a search.
pub(super) struct Interests<'a> {
    all: &'a [SessionInterest],
    rest: slice::Iter<'a, SessionInterest>,
}

impl<'a> Interests<'a> {
    pub(super) fn new(all: &'a [SessionInterest]) -> Self {
        Self {
            all,
            rest: all.iter(),
        }
    }

    pub(super) fn of(&mut self, session: &Claim) -> Option<&'a SessionInterest> {
        for _ in 0..2 {
            let found = self.rest.find(|interest| interest.session == *session);
            if found.is_some() {
                return found;
            }
            self.rest = self.all.iter();
        }
        None
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
        self.sessions.insert(session, edge);
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
        let mut joined = Interests::new(joined);
        for change in self.sessions.take_changes(seq) {
            let InterestChange {
                ticket, session, ..
            } = change;
            let holder = self.sessions.edge_of(&session);
            if let Some(edge) = holder.filter(|edge| !self.edges.is_waiting(*edge)) {
                match joined.of(&session) {
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
