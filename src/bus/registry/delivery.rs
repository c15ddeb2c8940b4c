use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    sorted::Map,
    vocabulary::{event::ServerEvent, position::Position},
    wire::Batch,
};

use super::edge::EdgeId;

/// A frame and the edges that receive it: those with the same last sent position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// The frame.
    pub message: String,
    /// The edges in ascending order.
    pub edges: Vec<EdgeId>,
}

/// Edges by their last sent position: usually all have the same, or few differ.
#[derive(Debug, Default)]
pub(super) struct EdgesByPrevious {
    by_previous: Map<Option<Position>, Vec<EdgeId>>,
    /// The latest edges with the same position, which are not among the others yet.
    current: (Option<Position>, Vec<EdgeId>),
}

impl EdgesByPrevious {
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
            && let Some(same) = self.by_previous.or_default(previous)
        {
            same.extend(edges);
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
