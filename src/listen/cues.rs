use std::collections::{BTreeMap, VecDeque};

use crate::{event::ServerEvent, filter::SubscriptionFilter, uri::Uri};

/// The pending cues of one stream: at most one for each honored kind and URI, however
/// many events came, in the order in which each key first became pending.
#[derive(Debug)]
pub(super) struct Cues {
    kinds: [Option<Place>; 3],
    uris: BTreeMap<Uri, Place>,
    queue: VecDeque<ServerEvent>,
}

/// Whether a key's cue waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Idle,
    Queued,
}

impl Cues {
    pub(super) fn new(honored: &SubscriptionFilter) -> Self {
        let kind = |is_honored: bool| is_honored.then_some(Place::Idle);
        let uris = honored.resource_subscriptions.iter();
        Self {
            kinds: [
                kind(honored.tools_list_changed),
                kind(honored.prompts_list_changed),
                kind(honored.resources_list_changed),
            ],
            uris: uris.map(|uri| (uri.clone(), Place::Idle)).collect(),
            queue: VecDeque::new(),
        }
    }

    /// Queues a cue for the event's key, unless one waits already or the key is not honored.
    pub(super) fn push(&mut self, event: &ServerEvent) {
        if let Some(place @ Place::Idle) = self.place(event) {
            *place = Place::Queued;
            self.queue.push_back(event.clone());
        }
    }

    pub(super) fn pop(&mut self) -> Option<ServerEvent> {
        let event = self.queue.pop_front()?;
        if let Some(place) = self.place(&event) {
            *place = Place::Idle;
        }
        Some(event)
    }

    pub(super) fn clear(&mut self) {
        while self.pop().is_some() {}
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    fn place(&mut self, event: &ServerEvent) -> Option<&mut Place> {
        let [tools, prompts, resources] = &mut self.kinds;
        match event {
            ServerEvent::ToolsListChanged => tools.as_mut(),
            ServerEvent::PromptsListChanged => prompts.as_mut(),
            ServerEvent::ResourcesListChanged => resources.as_mut(),
            ServerEvent::ResourceUpdated { uri } => self.uris.get_mut(uri),
        }
    }
}
