use alloc::vec::Vec;

use crate::{
    bus::registry::EdgeId,
    sorted::Map,
    vocabulary::{
        position::{Cursor, Position},
        topic::Topic,
    },
    wire::Claim,
};

/// The follows of edges that have no reply yet, by the call that each waits for. No operation walks
/// over follows that it does not concern.
#[derive(Debug, Default)]
pub(super) struct WaitingFollows {
    /// Those that wait for the reply to the call in flight, in the order of their arrival.
    in_flight: Map<u64, Waiting>,
    /// Those that wait for the next call, in the order of their arrival.
    next: Map<u64, Waiting>,
    /// The keys of the follows of each edge.
    by_edge: Map<EdgeId, Vec<u64>>,
    next_key: u64,
}

/// A follow that has no reply yet.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) edge: EdgeId,
    /// The number of the follow.
    pub(super) seq: u64,
    pub(super) what: Asked,
}

#[derive(Debug)]
pub(super) enum Asked {
    /// A fresh follow.
    All {
        since: Option<Cursor>,
        session: Option<Claim>,
    },
    /// A follow that added these topics.
    More(Vec<Topic>),
}

impl WaitingFollows {
    /// Adds a follow. It waits for the reply to the call in flight if that call serves it, and else
    /// for the next call.
    pub(super) fn push(&mut self, waiting: Waiting, is_served: bool) {
        let key = self.next_key;
        self.next_key += 1;
        if let Some(keys) = self.by_edge.or_default(waiting.edge) {
            keys.push(key);
        }
        if is_served {
            self.in_flight.insert(key, waiting);
        } else {
            self.next.insert(key, waiting);
        }
    }

    /// Removes the follows of an edge.
    pub(super) fn remove(&mut self, edge: EdgeId) {
        for key in self.by_edge.remove(&edge).unwrap_or_default() {
            if self.in_flight.remove(&key).is_none() {
                self.next.remove(&key);
            }
        }
    }

    /// Whether any of them needs another call.
    pub(super) fn is_due(&self) -> bool {
        !self.next.is_empty()
    }

    /// Lets all of them wait for the call that begins. Returns the sessions that it has to name.
    pub(super) fn assign(&mut self) -> Vec<Claim> {
        self.ask_again();
        self.in_flight = core::mem::take(&mut self.next);
        let all = self.in_flight.iter();
        let sessions = all.filter_map(|(_, waiting)| match &waiting.what {
            Asked::All { session, .. } => session.clone(),
            Asked::More(_) => None,
        });
        sessions.collect()
    }

    /// Lets all of them wait for the next call.
    pub(super) fn ask_again(&mut self) {
        for (key, waiting) in core::mem::take(&mut self.in_flight).into_entries() {
            self.next.insert(key, waiting);
        }
    }

    /// Returns the earliest position from which an edge needs events of the call in flight.
    pub(super) fn oldest_since(&self) -> Option<Position> {
        let all = self.in_flight.values();
        let all = all.filter_map(|waiting| match &waiting.what {
            Asked::All { since, .. } => since.as_ref(),
            Asked::More(_) => None,
        });
        all.map(|since| since.position).min()
    }

    /// Removes those of the edges that match and that wait for the call in flight. Returns them in
    /// the order of their arrival.
    pub(super) fn take(&mut self, is: impl Fn(EdgeId) -> bool) -> Vec<Waiting> {
        let all = core::mem::take(&mut self.in_flight).into_entries();
        let mut taken = Vec::new();
        for (key, waiting) in all {
            if is(waiting.edge) {
                self.release(waiting.edge, key);
                taken.push(waiting);
            } else {
                self.in_flight.insert(key, waiting);
            }
        }
        taken
    }

    /// Removes the key of a follow that its edge no longer waits for.
    fn release(&mut self, edge: EdgeId, key: u64) {
        let is_last = self.by_edge.get_mut(&edge).is_some_and(|keys| {
            keys.retain(|own| *own != key);
            keys.is_empty()
        });
        if is_last {
            self.by_edge.remove(&edge);
        }
    }
}
