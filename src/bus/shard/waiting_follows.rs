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
pub(super) struct WaitingFollows {
    /// Ordered by edge, those of one edge by their numbers. New edges have the highest numbers, so
    /// most are added at the end.
    all: Vec<Waiting>,
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
        let place = self.all.partition_point(|it| it.edge <= waiting.edge);
        self.all.insert(place, waiting);
    }

    /// Removes the follows of an edge.
    pub(super) fn remove(&mut self, edge: EdgeId) {
        let place = self.all.partition_point(|it| it.edge < edge);
        while self.all.get(place).is_some_and(|it| it.edge == edge) {
            let removed = self.all.remove(place);
            self.due -= usize::from(removed.is_due());
        }
    }

    /// Whether any of them needs another call.
    pub(super) fn is_due(&self) -> bool {
        self.due > 0
    }

    /// Lets all of them wait for this call. Returns the sessions that it has to name.
    pub(super) fn assign(&mut self, call: u64) -> Vec<Claim> {
        self.wait_for(Some(call));
        self.due = 0;
        let sessions = self.all.iter().filter_map(|waiting| match &waiting.what {
            Asked::All { session, .. } => session.clone(),
            Asked::More(_) => None,
        });
        sessions.collect()
    }

    /// Lets all of them wait for the next call.
    pub(super) fn ask_again(&mut self) {
        self.wait_for(None);
        self.due = self.all.len();
    }

    /// Returns the earliest position from which an edge needs events.
    pub(super) fn oldest_since(&self) -> Option<Position> {
        let all = self.all.iter().filter_map(|waiting| match &waiting.what {
            Asked::All { since, .. } => since.as_ref(),
            Asked::More(_) => None,
        });
        all.map(|since| since.position).min()
    }

    /// Removes those of the edges that match and that wait for this call.
    pub(super) fn take(&mut self, call: u64, is: impl Fn(EdgeId) -> bool) -> Vec<Waiting> {
        let all = core::mem::take(&mut self.all).into_iter();
        let (taken, left) =
            all.partition(|waiting: &Waiting| waiting.call == Some(call) && is(waiting.edge));
        self.all = left;
        taken
    }

    fn wait_for(&mut self, call: Option<u64>) {
        for waiting in &mut self.all {
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
