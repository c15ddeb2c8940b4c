use crate::{
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::{Cues, Since},
    topic::Topic,
};

/// What a client has yet to be told: at most one event for each topic, whatever the server sends.
///
/// An update may name a part of a resource that was subscribed to. Where too many parts wait, the
/// resources themselves are told instead, for to read those again covers all their parts.
#[derive(Debug)]
pub(super) struct Pending {
    honored: SubscriptionFilter,
    cues: Cues,
    /// Updates of parts of resources since nothing waited.
    parts: usize,
    most_parts: usize,
}

impl Pending {
    pub(super) fn new(honored: SubscriptionFilter, most_parts: usize) -> Self {
        Self {
            honored,
            cues: Cues::default(),
            parts: 0,
            most_parts,
        }
    }

    pub(super) fn push(&mut self, event: &ServerEvent) {
        if self.honored.accepts(event) || self.cues.has(&Topic::of(event)) {
            self.cues.push(event, Since::default());
        } else if let ServerEvent::ResourceUpdated { .. } = event {
            self.push_part(event);
        }
    }

    /// Something may have been missed: every honored list and resource is told once. The state of a
    /// task cannot be made up.
    pub(super) fn push_all(&mut self) {
        for event in self.honored.subjects() {
            self.cues.push(&event, Since::default());
        }
    }

    pub(super) fn pop(&mut self) -> Option<ServerEvent> {
        let event = self.cues.pop().map(|(event, _)| event);
        if self.cues.len() == 0 {
            self.parts = 0;
        }
        event
    }

    fn push_part(&mut self, event: &ServerEvent) {
        if self.parts >= self.most_parts {
            return self.push_resources();
        }
        self.parts += 1;
        self.cues.push(event, Since::default());
    }

    fn push_resources(&mut self) {
        for uri in self.honored.resource_subscriptions.iter().cloned() {
            self.cues
                .push(&ServerEvent::ResourceUpdated { uri }, Since::default());
        }
    }
}
