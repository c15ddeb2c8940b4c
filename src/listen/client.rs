use alloc::string::String;

use crate::{
    message,
    vocabulary::{
        capabilities::Capabilities, event::ServerEvent, filter::SubscriptionFilter, id::RequestId,
    },
};

use super::incoming::Incoming;

/// The client side of one subscription, from its request to its end (2026-07-28, Subscriptions),
/// for any transport.
///
/// Send [`ClientStream::request`], then pass every message that names the subscription to
/// [`ClientStream::handle_message`].
#[derive(Debug)]
pub struct ClientStream {
    id: RequestId,
    requested: SubscriptionFilter,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The acknowledgment is pending.
    Opening,
    Open {
        honored: SubscriptionFilter,
    },
    Ended,
}

/// A notice from a subscription to its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The subscription is open, with the filter that the server honors.
    Acknowledged(SubscriptionFilter),
    /// Something changed: read it again.
    Changed(ServerEvent),
    /// The server sent a malformed message. In place of the acknowledgment: the honored filter is
    /// unknown. Later: a change may have been missed. The subscription continues until its owner
    /// cancels it.
    Malformed,
    /// The subscription has ended; nothing follows.
    Ended(ClientEndReason),
}

/// How a subscription ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientEndReason {
    /// The server closed it, and nothing was lost.
    Graceful,
    /// It broke off, or the server cancelled it: changes may have been missed.
    Lost,
    /// The server refused the request.
    Refused {
        /// The JSON-RPC error code.
        code: i32,
        /// The server's message.
        text: String,
    },
}

impl ClientStream {
    /// Creates a subscription that is about to be requested.
    pub fn new(id: RequestId, requested: SubscriptionFilter) -> Self {
        Self {
            id,
            requested,
            state: State::Opening,
        }
    }

    /// Returns the listen request; `client_info` is compact JSON.
    pub fn request(&self, client_info: Option<&str>) -> String {
        message::listen_request(&self.id, &self.requested, client_info)
    }

    /// Handles a message that names this subscription.
    pub fn handle_message(&mut self, incoming: Incoming) -> Option<Notice> {
        let notice = match (&self.state, incoming) {
            (State::Ended, _) => return None,
            (_, Incoming::Result) => self.end(ClientEndReason::Graceful),
            (_, Incoming::Cancelled | Incoming::Invalid) => self.end(ClientEndReason::Lost),
            (_, Incoming::Refused { code, text }) => {
                self.end(ClientEndReason::Refused { code, text })
            }
            (State::Opening, Incoming::Acknowledged(filter)) => self.acknowledge(&filter),
            (State::Opening, Incoming::MalformedAcknowledgment)
            | (State::Open { .. }, Incoming::Malformed) => Notice::Malformed,
            (State::Open { honored }, Incoming::Changed(event)) if concerns(honored, &event) => {
                Notice::Changed(event)
            }
            (State::Opening | State::Open { .. }, _) => return None,
        };
        Some(notice)
    }

    /// Cancels the subscription: no notice follows. Returns the notification for the server, on
    /// transports that require one; `None` if the subscription has ended already.
    pub fn cancel(&mut self) -> Option<String> {
        let was = core::mem::replace(&mut self.state, State::Ended);
        (!matches!(was, State::Ended)).then(|| message::cancelled(&self.id))
    }

    /// Returns the id of the listen request.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Whether the acknowledgment is pending.
    pub fn is_opening(&self) -> bool {
        matches!(self.state, State::Opening)
    }

    /// Whether the subscription has ended.
    pub fn is_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// Opens the subscription. Ignores anything in the acknowledged filter that was not requested.
    fn acknowledge(&mut self, filter: &SubscriptionFilter) -> Notice {
        let honored = self.requested.honored(Capabilities::ALL, Some(filter));
        self.state = State::Open {
            honored: honored.clone(),
        };
        Notice::Acknowledged(honored)
    }

    fn end(&mut self, end: ClientEndReason) -> Notice {
        self.state = State::Ended;
        Notice::Ended(end)
    }
}

/// Whether a subscription is concerned by an event. An update may name a part of a resource that
/// was subscribed to (2026-07-28, Resources: Subscriptions).
pub(crate) fn concerns(honored: &SubscriptionFilter, event: &ServerEvent) -> bool {
    match event {
        ServerEvent::ResourceUpdated { .. } => !honored.resource_subscriptions.is_empty(),
        _ => honored.accepts(event),
    }
}
