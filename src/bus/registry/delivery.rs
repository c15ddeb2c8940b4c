use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    sorted::Map,
    vocabulary::{event::ServerEvent, position::Position},
    wire::Batch,
};

use super::EdgeId;

/// One frame and whom it goes to: the edges that were last sent the same position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The frame.
    pub message: String,
    /// The edges, in ascending order.
    pub edges: Vec<EdgeId>,
}

/// Edges by what they were last sent: mostly one group, or few.
#[derive(Debug, Default)]
pub(super) struct Groups {
    by_previous: Map<Option<Position>, Vec<EdgeId>>,
    /// The group of the edge before, not yet among the others.
    current: (Option<Position>, Vec<EdgeId>),
}

impl Groups {
    pub(super) fn push(&mut self, previous: Option<Position>, edge: EdgeId) {
        if self.current.0 != previous {
            self.put_away();
            self.current.0 = previous;
        }
        self.current.1.push(edge);
    }

    fn put_away(&mut self) {
        let (previous, edges) = core::mem::take(&mut self.current);
        if !edges.is_empty()
            && let Some(group) = self.by_previous.or_default(previous)
        {
            group.extend(edges);
        }
    }

    pub(super) fn into_deliveries(
        mut self,
        position: Position,
        at: Option<Millis>,
        event: &ServerEvent,
    ) -> Vec<Delivery> {
        self.put_away();
        if self.by_previous.is_empty() {
            return Vec::new();
        }
        let text = event.to_json();
        let groups = self.by_previous.into_entries();
        groups
            .map(|(previous, edges)| Delivery {
                message: Batch::for_edge(previous, position, at, [(position, &text)].into_iter()),
                edges,
            })
            .collect()
    }
}
