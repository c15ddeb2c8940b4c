use std::collections::BTreeMap;

use crate::{clock::Millis, event::ServerEvent, filter::SubscriptionFilter, position::Position};

use super::{
    delivery::{Delivery, Groups},
    index::{EdgeId, Index},
    interest::Interest,
    key::Key,
};

/// The edges of one bus object: what each wants, and what it was sent last.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    all: BTreeMap<EdgeId, Option<Attached>>,
    index: Index,
    next: u32,
}

/// What is known of an edge that has attached.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) interest: Interest,
    /// The place of the last frame that it was sent; `None` where that was forgotten.
    pub(crate) last: Option<Position>,
    /// Its attach has not been answered: it gets nothing yet.
    pub(crate) is_waiting: bool,
}

impl Edges {
    pub(crate) fn connect(&mut self) -> EdgeId {
        let edge = EdgeId(self.next);
        self.next = self.next.wrapping_add(1);
        self.all.insert(edge, None);
        edge
    }

    /// Takes an edge out; the answer is what it had attached for.
    pub(crate) fn disconnect(&mut self, edge: EdgeId) -> Option<Attached> {
        let former = self.leave(edge);
        self.all.remove(&edge);
        former
    }

    pub(crate) fn enter(&mut self, edge: EdgeId, attached: Attached) {
        self.index.insert(edge, &attached.interest);
        self.all.insert(edge, Some(attached));
    }

    /// Takes an edge out of the index; its connection stays.
    pub(crate) fn leave(&mut self, edge: EdgeId) -> Option<Attached> {
        let former = self.all.get_mut(&edge)?.take()?;
        self.index.remove(edge, &former.interest);
        Some(former)
    }

    pub(crate) fn is_connected(&self, edge: EdgeId) -> bool {
        self.all.contains_key(&edge)
    }

    pub(crate) fn get(&self, edge: EdgeId) -> Option<&Attached> {
        self.all.get(&edge)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, edge: EdgeId) -> Option<&mut Attached> {
        self.all.get_mut(&edge)?.as_mut()
    }

    /// All connections, attached or not.
    pub(crate) fn ids(&self) -> impl Iterator<Item = EdgeId> {
        self.all.keys().copied()
    }

    /// Whether there are no connections.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn attached(&self) -> usize {
        self.all.values().flatten().count()
    }

    /// What all that have attached want together.
    pub(crate) fn interest(&self) -> Interest {
        self.index.interest()
    }

    /// The same, but for those that want everything.
    pub(crate) fn filter(&self) -> SubscriptionFilter {
        self.index.filter()
    }

    pub(crate) fn is_wanted(&self, key: &Key) -> bool {
        self.index.contains(key)
    }

    /// The frames of an event. Edges that were last sent different positions get different
    /// frames; after one event that all of them want they are one group.
    pub(crate) fn deliveries(
        &mut self,
        position: Position,
        at: Option<Millis>,
        event: &ServerEvent,
    ) -> Vec<Delivery> {
        let edges = self.index.matching(event);
        let mut groups = Groups::default();
        let mut take = |edge, attached: &mut Attached| {
            if !attached.is_waiting && attached.last.is_none_or(|last| last < position) {
                groups.push(attached.last.replace(position), edge);
            }
        };
        if edges.len() > self.all.len() / DENSE {
            let mut wanted = edges.iter().peekable();
            for (edge, attached) in &mut self.all {
                if wanted.next_if_eq(&edge).is_some()
                    && let Some(attached) = attached
                {
                    take(*edge, attached);
                }
            }
        } else {
            for edge in edges {
                if let Some(Some(attached)) = self.all.get_mut(&edge) {
                    take(edge, attached);
                }
            }
        }
        groups.into_deliveries(position, at, event)
    }
}

/// Where more than one in so many edges gets an event, passing over all of them is faster than looking each up.
const DENSE: usize = 8;
