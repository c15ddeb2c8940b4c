use std::sync::Arc;

use mcp_listen::{event::ServerEvent, filter::SubscriptionFilter, scope::Label};

use crate::{changes::Changes, streams::Streams};

/// The streams of this process, and the way to publish to them. Clones are the same bus.
///
/// An event reaches the streams that were open when it was published; nothing is kept for those that come later. Publishing
/// does not block, and costs what it reaches.
#[derive(Clone, Debug, Default)]
pub struct Bus {
    pub(crate) streams: Arc<Streams>,
}

impl Bus {
    /// A bus without streams.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells all streams that listen to it of a change.
    pub fn publish(&self, event: ServerEvent) {
        self.publish_all([event]);
    }

    /// Tells of several changes: each stream gets what concerns it in one write, and what repeats once.
    pub fn publish_all(&self, events: impl IntoIterator<Item = ServerEvent>) {
        self.streams.publish(events.into_iter().collect());
    }

    /// The events that `filter` names, from now on, for who delivers them in a way of its own, such as over a WebSocket.
    /// `None` where the bus is closed.
    pub fn subscribe(&self, filter: SubscriptionFilter) -> Option<Changes> {
        Changes::new(&self.streams, filter)
    }

    /// A caller may hear nothing any more: streams that were opened with its name in [`Grant::scope`](crate::Grant::scope)
    /// end without a result, at once.
    pub fn revoke(&self, principal: Label) {
        self.publish(ServerEvent::Revoked { principal });
    }

    /// Ends all streams with what still waits and the result of their requests; later listen requests are a 503. To be
    /// called when the server shuts down, before the host waits for open responses.
    pub fn close(&self) {
        self.streams.close();
    }

    /// How many streams are open.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }
}
