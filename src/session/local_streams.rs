use alloc::boxed::Box;

use crate::{bus::EdgeId, sorted::Map};

/// The edges of this bus that hold streams of sessions.
#[derive(Debug, Default)]
pub(super) struct LocalStreams {
    edges: Map<Box<str>, EdgeId>,
    sessions: Map<EdgeId, Box<str>>,
}

impl LocalStreams {
    /// Returns the edge that holds the stream of a session.
    pub(super) fn edge(&self, session: &str) -> Option<EdgeId> {
        self.edges.get(session).copied()
    }

    /// Records the edge that holds the stream. Returns the previous one, if it is another.
    pub(super) fn insert(&mut self, session: &str, edge: EdgeId) -> Option<EdgeId> {
        let former = self.edges.insert(session.into(), edge);
        let former = former.filter(|former| *former != edge);
        if let Some(former) = former {
            self.sessions.remove(&former);
        }
        self.sessions.insert(edge, session.into());
        former
    }

    /// Records that no edge holds the stream any more. Returns the previous one.
    pub(super) fn remove(&mut self, session: &str) -> Option<EdgeId> {
        let edge = self.edges.remove(session)?;
        self.sessions.remove(&edge);
        Some(edge)
    }

    /// Records that this edge holds no stream any more. Returns the session that it held.
    pub(super) fn remove_edge(&mut self, edge: EdgeId) -> Option<Box<str>> {
        let session = self.sessions.remove(&edge)?;
        self.edges.remove(&session);
        Some(session)
    }
}
