use crate::{
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::{Cues, Since},
};

/// What a client has yet to be told: at most one event for each subject, whatever the server sends.
///
/// An update may name a part of a resource that was subscribed to. Where too many parts wait, the
/// resources themselves are told instead, for to read those again covers all their parts.
#[derive(Debug)]
pub(super) struct Pending {
    honored: SubscriptionFilter,
    cues: Cues,
    most_parts: usize,
}

impl Pending {
    pub(super) fn new(honored: SubscriptionFilter, most_parts: usize) -> Self {
        Self {
            cues: Cues::new(&honored),
            honored,
            most_parts,
        }
    }

    pub(super) fn push(&mut self, event: &ServerEvent) {
        if let ServerEvent::ResourceUpdated { uri } = event
            && !self.cues.admit(uri, self.honored.keys() + self.most_parts)
        {
            return self.push_resources();
        }
        self.cues.push(event, Since::default());
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
        if self.cues.len() == 0 && self.cues.keys() > self.honored.keys() {
            self.cues = Cues::new(&self.honored);
        }
        event
    }

    fn push_resources(&mut self) {
        for uri in self.honored.resource_subscriptions.iter().cloned() {
            self.cues
                .push(&ServerEvent::ResourceUpdated { uri }, Since::default());
        }
    }
}
