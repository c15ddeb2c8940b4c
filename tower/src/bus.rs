use std::sync::Arc;

use mcp_listen::{event::ServerEvent, filter::SubscriptionFilter, scope::Name};

use crate::{changes::Changes, streams::Streams};

/// The streams of this process, and the way to publish to them. Clones are the same bus.
///
/// An event is delivered to the streams that are open when it is published; it is not stored for
/// later ones. Publishing does not block, and its cost depends on the streams that match.
#[derive(Clone, Debug, Default)]
pub struct Bus {
    pub(crate) streams: Arc<Streams>,
}

impl Bus {
    /// Creates a bus without streams.
    pub fn new() -> Self {
        Self::default()
    }

    /// Publishes a change to all streams that subscribe to it.
    pub fn publish(&self, event: ServerEvent) {
        self.publish_all([event]);
    }

    /// Publishes several changes: each stream gets its notifications in one write, without
    /// repetitions.
    pub fn publish_all(&self, events: impl IntoIterator<Item = ServerEvent>) {
        self.streams.publish(events.into_iter().collect());
    }

    /// Subscribes to the events that `filter` names, for another transport such as a WebSocket.
    /// Returns `None` if the bus is closed.
    pub fn subscribe(&self, filter: SubscriptionFilter) -> Option<Changes> {
        Changes::new(&self.streams, filter)
    }

    /// Disconnects a caller: streams that were opened with its name in
    /// [`Grant::scope`](crate::Grant::scope) end at once, without a result. Its requests for which
    /// `authorize` has not returned yet get 503, and the client retries.
    pub fn disconnect(&self, principal: Name) {
        self.publish(ServerEvent::Disconnect { principal });
    }

    /// Ends all streams with their pending notifications and the result of their requests; later
    /// listen requests get 503. Call it when the server shuts down, before the host waits for open
    /// responses. Give that wait a limit: a client that reads nothing takes no end either.
    pub fn close(&self) {
        self.streams.close();
    }

    /// Returns the number of open streams.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }
}
