use crate::{
    listen::{Cues, Since, concerns},
    vocabulary::{event::ServerEvent, filter::SubscriptionFilter, topic::Topic},
};

use super::end::CloseReason;

/// An output of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubscriptionOutput {
    /// The subscription is open, with the filter that the server honors.
    Acknowledged(SubscriptionFilter),
    /// Something changed: read it again.
    Changed(ServerEvent),
    /// The subscription has ended; nothing follows.
    Ended(CloseReason),
}

/// The pending output of a subscription: that it is open, what changed, and how it ended, in this
/// order.
///
/// At most one event is pending for each topic, whatever the server sends. An update may name a
/// part of a resource that was subscribed to. If too many parts are pending, the resources
/// themselves are reported instead, since reading those again covers all their parts.
#[derive(Debug)]
pub(super) struct PendingOutput {
    honored: SubscriptionFilter,
    /// Whether the opening has not been reported yet.
    opens: bool,
    cues: Cues,
    /// Updates of parts of resources since the queue was last empty.
    parts: usize,
    max_parts: usize,
    end: Option<CloseReason>,
    /// Before the subscription is open, changes are held; those outside the honored filter are then
    /// dropped.
    is_open: bool,
}

impl PendingOutput {
    /// Creates the output of a subscription that may come to honor `expected`. At most `max_parts`
    /// parts of resources are pending.
    pub(super) fn new(expected: SubscriptionFilter, max_parts: usize) -> Self {
        Self {
            honored: expected,
            opens: false,
            cues: Cues::default(),
            parts: 0,
            max_parts,
            end: None,
            is_open: false,
        }
    }

    /// Opens the subscription; changes that arrived before are reported after the opening.
    pub(super) fn open(&mut self, honored: SubscriptionFilter) {
        let mut held = core::mem::take(&mut self.cues);
        self.parts = 0;
        self.honored = honored;
        while let Some((event, _)) = held.pop() {
            if concerns(&self.honored, &event) {
                self.push(&event);
            }
        }
        self.opens = true;
        self.is_open = true;
    }

    /// Adds a change that the subscription honors.
    pub(super) fn push(&mut self, event: &ServerEvent) {
        if self.honored.accepts(event) || self.cues.has(&Topic::of(event)) {
            self.cues.push(event, Since::default());
        } else if let ServerEvent::ResourceUpdated { .. } = event {
            self.push_part(event);
        }
    }

    /// Reports every honored list and resource once, since a change may have been missed. The state
    /// of a task cannot be reconstructed.
    pub(super) fn push_all(&mut self) {
        for event in self.honored.subjects() {
            self.cues.push(&event, Since::default());
        }
    }

    /// Ends the subscription; changes from before are reported first.
    pub(super) fn end(&mut self, end: CloseReason) {
        self.end = Some(end);
    }

    /// Drops all pending output.
    pub(super) fn clear(&mut self) {
        *self = Self::new(SubscriptionFilter::default(), 0);
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) fn poll(&mut self) -> Option<SubscriptionOutput> {
        if core::mem::take(&mut self.opens) {
            return Some(SubscriptionOutput::Acknowledged(self.honored.clone()));
        }
        let changed = if self.is_open { self.pop() } else { None };
        changed
            .map(SubscriptionOutput::Changed)
            .or_else(|| self.end.take().map(SubscriptionOutput::Ended))
    }

    fn pop(&mut self) -> Option<ServerEvent> {
        let event = self.cues.pop().map(|(event, _)| event);
        if self.cues.len() == 0 {
            self.parts = 0;
        }
        event
    }

    fn push_part(&mut self, event: &ServerEvent) {
        if self.parts < self.max_parts {
            self.parts += 1;
            self.cues.push(event, Since::default());
            return;
        }
        for uri in self.honored.resource_subscriptions.iter().cloned() {
            let event = ServerEvent::ResourceUpdated { uri };
            self.cues.push(&event, Since::default());
        }
    }
}
