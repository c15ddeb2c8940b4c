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

/// The follows of edges that have no reply yet.
#[derive(Debug, Default)]
pub(super) struct WaitingFollows {
    /// Those of each edge, in the order of their numbers.
    edges: Map<EdgeId, Vec<Waiting>>,
    /// The number of those that wait for the next call.
    due: usize,
}

/// A follow that has no reply yet.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) edge: EdgeId,
    /// The number of the follow.
    pub(super) seq: u64,
    pub(super) what: Asked,
    /// The call whose reply it waits for; `None`: the next one.
    pub(super) call: Option<u64>,
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
    pub(super) fn push(&mut self, waiting: Waiting) {
        self.due += usize::from(waiting.is_due());
        if let Some(of_edge) = self.edges.or_default(waiting.edge) {
            of_edge.push(waiting);
        }
    }

    /// Removes the follows of an edge.
    pub(super) fn remove(&mut self, edge: EdgeId) {
        let removed = self.edges.remove(&edge).unwrap_or_default();
        self.due -= removed.iter().filter(|waiting| waiting.is_due()).count();
    }

    /// Whether any of them needs another call.
    pub(super) fn is_due(&self) -> bool {
        self.due > 0
    }

    /// Lets all of them wait for this call. Returns the sessions that it has to name.
    pub(super) fn assign(&mut self, call: u64) -> Vec<Claim> {
        self.wait_for(Some(call));
        self.due = 0;
        let sessions = self.iter().filter_map(|waiting| match &waiting.what {
            Asked::All { session, .. } => session.clone(),
            Asked::More(_) => None,
        });
        sessions.collect()
    }

    /// Lets all of them wait for the next call.
    pub(super) fn ask_again(&mut self) {
        self.wait_for(None);
        self.due = self.iter().count();
    }

    /// Returns the earliest position from which an edge needs events.
    pub(super) fn oldest_since(&self) -> Option<Position> {
        let all = self.iter().filter_map(|waiting| match &waiting.what {
            Asked::All { since, .. } => since.as_ref(),
            Asked::More(_) => None,
        });
        all.map(|since| since.position).min()
    }

    /// Removes those of the edges that match and that wait for this call.
    pub(super) fn take(&mut self, call: u64, is: impl Fn(EdgeId) -> bool) -> Vec<Waiting> {
        let mut taken = Vec::new();
        self.edges.retain(|edge, of_edge| {
            if is(*edge) {
                taken.extend(of_edge.extract_if(.., |waiting| waiting.call == Some(call)));
            }
            !of_edge.is_empty()
        });
        taken
    }

    fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.edges.iter().flat_map(|(_, of_edge)| of_edge)
    }

    fn wait_for(&mut self, call: Option<u64>) {
        for waiting in self.edges.values_mut().flatten() {
            waiting.call = call;
        }
    }
}

impl Waiting {
    /// Whether it waits for the next call.
    fn is_due(&self) -> bool {
        self.call.is_none()
    }
}
