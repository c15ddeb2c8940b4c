use alloc::vec::Vec;

use crate::{
    bus::registry::EdgeId,
    vocabulary::{
        position::{Cursor, Position},
        topic::Topic,
    },
    wire::Claim,
};

/// The follows of edges that have no reply yet.
#[derive(Debug, Default)]
pub(super) struct WaitingFollows(Vec<Waiting>);

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
        self.0.push(waiting);
    }

    /// Removes the follows of an edge.
    pub(super) fn remove(&mut self, edge: EdgeId) {
        self.0.retain(|waiting| waiting.edge != edge);
    }

    /// Whether any of them needs another call.
    pub(super) fn is_due(&self) -> bool {
        self.0.iter().any(|waiting| waiting.call.is_none())
    }

    /// Lets all of them wait for this call. Returns the sessions that it has to name.
    pub(super) fn assign(&mut self, call: u64) -> Vec<Claim> {
        let mut sessions = Vec::new();
        for waiting in &mut self.0 {
            waiting.call = Some(call);
            if let Asked::All { session, .. } = &waiting.what {
                sessions.extend(session.clone());
            }
        }
        sessions
    }

    /// Lets all of them wait for the next call.
    pub(super) fn ask_again(&mut self) {
        for waiting in &mut self.0 {
            waiting.call = None;
        }
    }

    /// Returns the earliest position from which an edge needs events.
    pub(super) fn oldest_since(&self) -> Option<Position> {
        let all = self.0.iter().filter_map(|waiting| match &waiting.what {
            Asked::All { since, .. } => since.as_ref(),
            Asked::More(_) => None,
        });
        all.map(|since| since.position).min()
    }

    /// Removes those of the edges that match and that wait for this call.
    pub(super) fn take(&mut self, call: u64, is: impl Fn(EdgeId) -> bool) -> Vec<Waiting> {
        let all = core::mem::take(&mut self.0).into_iter();
        let (taken, left) =
            all.partition(|waiting: &Waiting| waiting.call == Some(call) && is(waiting.edge));
        self.0 = left;
        taken
    }
}
