use std::{sync::Arc, time::Duration};

use mcp_listen_tower::{Bus, Changes, Scope, ServerEvent};
use rmcp::{
    ErrorData,
    model::SubscriptionFilter,
    service::{SubscriptionContext, SubscriptionSendError, SubscriptionSink},
};
use tokio::time::sleep;

use crate::{
    filter::{accepted, filter},
    pending::Pending,
};

/// The subscriptions of a server, fed by a [`Bus`]. Clones share their state; give one to each
/// handler of the server.
#[derive(Clone, Debug)]
pub struct Subscriptions {
    bus: Bus,
    max: usize,
    pending: Arc<Pending>,
}

impl Subscriptions {
    /// Creates the subscriptions to what is published on `bus`.
    pub fn new(bus: Bus) -> Self {
        Self {
            bus,
            max: MAX_SUBSCRIPTIONS,
            pending: Arc::default(),
        }
    }

    /// Limits how many streams the bus may hold, including those of a layer on the same bus.
    /// Default 4,000. A subscription beyond that ends with an error at once.
    #[must_use]
    pub fn max_subscriptions(mut self, max: usize) -> Self {
        self.max = max;
        self
    }

    /// Returns the part of `requested` that can be honored: at most 256 resources, with URIs of at
    /// most 2,048 bytes. Return it, or less, from `ServerHandler::accepted_subscription_filter`.
    /// The SDK removes what the server's capabilities do not offer.
    pub fn accept(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let requested = filter(requested);
        let honored = accepted(&requested);
        self.pending.expire();
        if self.bus.streams() < self.max
            && let Some(changes) = self.bus.subscribe(requested)
        {
            self.pending.hold(changes);
        }
        honored
    }

    /// Delivers what is published to a subscription until its client cancels it or disconnects, or
    /// until the bus is closed: then it ends with the result of its request. Call it from
    /// `ServerHandler::listen`.
    ///
    /// # Errors
    /// An internal error if there are too many subscriptions.
    pub async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.listen_as(context, Scope::default()).await
    }

    /// As [`Subscriptions::listen`], for a caller with a name and groups: it also receives what
    /// is published for these, and [`Bus::disconnect`] ends its subscription with an error. Both
    /// apply from this call on: check the caller's rights right before it.
    ///
    /// # Errors
    /// An internal error if there are too many subscriptions, or the caller was disconnected.
    pub async fn listen_as(
        &self,
        context: SubscriptionContext,
        scope: Scope,
    ) -> Result<(), ErrorData> {
        let pending = self.pending.take();
        let mut honored = filter(context.accepted());
        if honored.changes().is_empty() {
            return Ok(());
        }
        honored.scope = scope;
        let was_pending = pending.is_some();
        if !was_pending && self.bus.streams() >= self.max {
            return Err(ErrorData::internal_error("Too many subscriptions", None));
        }
        let topics = honored.subjects();
        let Some(mut changes) = pending.or_else(|| self.bus.subscribe(honored.clone())) else {
            // The bus is closed.
            return Ok(());
        };
        changes.filter(honored);
        // Otherwise the events since the acknowledgment are unknown.
        let missed = if was_pending { Vec::new() } else { topics };
        tokio::select! {
            () = context.cancelled() => Ok(()),
            () = disconnected(&context) => Ok(()),
            outcome = feed(missed, &mut changes, context.sink()) => outcome,
        }
    }
}

/// Waits until the connection is closed: except over HTTP, the SDK does not cancel the requests of
/// a closed connection.
async fn disconnected(context: &SubscriptionContext) {
    while !context.request_context().peer.is_transport_closed() {
        sleep(CHECK_INTERVAL).await;
    }
}

async fn feed(
    missed: Vec<ServerEvent>,
    changes: &mut Changes,
    sink: &SubscriptionSink,
) -> Result<(), ErrorData> {
    for event in &missed {
        send(sink, event).await?;
    }
    while let Some(event) = changes.next().await {
        send(sink, &event).await?;
    }
    if changes.is_closed() {
        return Ok(());
    }
    Err(ErrorData::internal_error("Not allowed any more", None))
}

/// Sends a notification. An error ends the subscription: its client has disconnected.
async fn send(sink: &SubscriptionSink, event: &ServerEvent) -> Result<(), ErrorData> {
    let sent: Result<(), SubscriptionSendError> = match event.change() {
        ServerEvent::ToolsListChanged => sink.notify_tool_list_changed().await,
        ServerEvent::PromptsListChanged => sink.notify_prompt_list_changed().await,
        ServerEvent::ResourcesListChanged => sink.notify_resource_list_changed().await,
        ServerEvent::ResourceUpdated { uri } => sink.notify_resource_updated(&**uri).await,
        // The SDK's filter names no tasks, so there are no subscriptions to them.
        _ => Ok(()),
    };
    sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

const MAX_SUBSCRIPTIONS: usize = 4_000;
/// How often a subscription checks whether its connection was closed.
const CHECK_INTERVAL: Duration = Duration::from_secs(15);
