use alloc::collections::VecDeque;
use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    fanout::{Fanout, StreamId},
    listen::{Accepted, EndReason, ServerStream, StreamKind, StreamOutput},
    sorted::Map,
    vocabulary::{
        capabilities::{Capabilities, Discovered},
        event::ServerEvent,
        filter::SubscriptionFilter,
        id::RequestId,
    },
};

/// The handle of a subscription within its channel. If the client reuses an id, the handle differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionHandle(pub u32);

/// The subscriptions of one channel, which take turns to write.
#[derive(Debug, Default)]
pub(super) struct ChannelSubscriptions {
    /// Their streams.
    fanout: Fanout,
    by_stream: Map<StreamId, SubscriptionHandle>,
    by_handle: Map<SubscriptionHandle, ChannelSubscription>,
    handles: Map<RequestId, SubscriptionHandle>,
    turns: VecDeque<SubscriptionHandle>,
    next: u32,
}

#[derive(Debug)]
pub(super) struct ChannelSubscription {
    origin: Origin,
    /// Its stream, once the host has accepted it.
    stream: Option<StreamId>,
    is_acknowledged: bool,
    has_turn: bool,
}

/// What the notifications belong to.
#[derive(Debug)]
enum Origin {
    /// A listen request.
    Listen(Accepted),
    /// The session of a client of an earlier revision.
    Session {
        /// The lists, or one resource.
        requested: SubscriptionFilter,
        /// The subscribe request and its response, held until the stream is open.
        held: Option<(RequestId, String)>,
    },
}

impl ChannelSubscriptions {
    pub(super) fn len(&self) -> usize {
        self.by_handle.len()
    }

    pub(super) fn holds(&self, id: &RequestId) -> bool {
        self.handles.contains_key(id)
    }

    pub(super) fn get(&self, handle: SubscriptionHandle) -> Option<&ChannelSubscription> {
        self.by_handle.get(&handle)
    }

    pub(super) fn handle_of(&self, id: &RequestId) -> Option<SubscriptionHandle> {
        self.handles.get(id).copied()
    }

    pub(super) fn all(&self) -> Vec<SubscriptionHandle> {
        self.by_handle.keys().copied().collect()
    }

    pub(super) fn insert(&mut self, accepted: Accepted) -> SubscriptionHandle {
        let id = accepted.id.clone();
        let handle = self.insert_of(Origin::Listen(accepted));
        self.handles.insert(id, handle);
        handle
    }

    /// Adds the notifications of a session: those of its lists, or those of a subscribe request
    /// with its response.
    pub(super) fn insert_session(
        &mut self,
        requested: SubscriptionFilter,
        held: Option<(RequestId, String)>,
    ) -> SubscriptionHandle {
        self.insert_of(Origin::Session { requested, held })
    }

    fn insert_of(&mut self, origin: Origin) -> SubscriptionHandle {
        let handle = SubscriptionHandle(self.next);
        self.next = self.next.wrapping_add(1);
        let subscription = ChannelSubscription {
            origin,
            stream: None,
            is_acknowledged: false,
            has_turn: false,
        };
        self.by_handle.insert(handle, subscription);
        handle
    }

    pub(super) fn remove(&mut self, handle: SubscriptionHandle) -> Option<ChannelSubscription> {
        let subscription = self.by_handle.remove(&handle)?;
        if let Origin::Listen(accepted) = &subscription.origin {
            self.handles.remove(&accepted.id);
        }
        if let Some(id) = subscription.stream {
            self.fanout.remove(id);
            self.by_stream.remove(&id);
        }
        Some(subscription)
    }

    /// Opens the subscription's stream, unless it is open. `discovered` is only used for listens:
    /// the capabilities of a session were checked before.
    pub(super) fn open(
        &mut self,
        handle: SubscriptionHandle,
        discovered: Option<&Discovered>,
        authorized: Option<&SubscriptionFilter>,
    ) {
        let Some(subscription) = self.change(handle) else {
            return;
        };
        let Some(stream) = subscription.stream_of(discovered, authorized) else {
            return;
        };
        let id = self.fanout.open_polled(stream, NOW);
        self.fanout.handle_attached(id, NOW);
        self.by_stream.insert(id, handle);
        if let Some(subscription) = self.by_handle.get_mut(&handle) {
            subscription.stream = Some(id);
        }
    }

    /// As [`ChannelSubscriptions::open`], for the notifications of a session. If their stream is
    /// open, replaces what it honors.
    pub(super) fn open_session(
        &mut self,
        handle: SubscriptionHandle,
        authorized: Option<&SubscriptionFilter>,
    ) {
        let Some(ChannelSubscription {
            origin: Origin::Session { requested, .. },
            stream: Some(id),
            ..
        }) = self.change(handle)
        else {
            return self.open(handle, None, authorized);
        };
        let (id, honored) = (*id, requested.honored(Capabilities::ALL, authorized));
        self.fanout.handle_filter(id, honored);
    }

    /// Publishes events, in this order.
    pub(super) fn publish(&mut self, events: Vec<ServerEvent>) {
        self.fanout.publish_all(events, NOW, NOW);
        for id in self.fanout.take_due() {
            if let Some(handle) = self.by_stream.get(&id).copied() {
                self.change(handle);
            }
        }
    }

    /// Handles a possible loss of events.
    pub(super) fn handle_gap(&mut self) {
        self.fanout.handle_gap();
        self.change_all();
    }

    /// As [`ChannelSubscriptions::handle_gap`], before all subscriptions close.
    pub(super) fn handle_loss_at_close(&mut self) {
        self.fanout.handle_loss_at_close();
        self.change_all();
    }

    /// Ends a stream gracefully.
    pub(super) fn close(&mut self, handle: SubscriptionHandle) {
        let stream = self
            .change(handle)
            .and_then(|subscription| subscription.stream);
        if let Some(id) = stream {
            self.fanout.touch(id, ServerStream::close);
        }
    }

    /// Gives each subscription a turn to write.
    pub(super) fn change_all(&mut self) {
        for handle in self.all() {
            self.change(handle);
        }
    }

    /// Returns the subscription to change it, and gives it a turn to write.
    pub(super) fn change(
        &mut self,
        handle: SubscriptionHandle,
    ) -> Option<&mut ChannelSubscription> {
        let subscription = self.by_handle.get_mut(&handle)?;
        if !core::mem::replace(&mut subscription.has_turn, true) {
            self.turns.push_back(handle);
        }
        Some(subscription)
    }

    /// Returns the message of the next subscription with output, or no message if that subscription
    /// ends. They take turns. Sessions send no notification until `is_ready`.
    pub(super) fn poll_message(
        &mut self,
        is_ready: bool,
    ) -> Option<(SubscriptionHandle, Option<String>)> {
        loop {
            let handle = self.turns.pop_front()?;
            let Some(subscription) = self.by_handle.get_mut(&handle) else {
                continue;
            };
            let message = subscription.poll_message(&mut self.fanout, is_ready);
            if message.is_some() {
                self.turns.push_back(handle);
                return Some((handle, message));
            }
            subscription.has_turn = false;
            if self.end_of(handle).is_some() {
                return Some((handle, None));
            }
        }
    }

    /// Returns why a subscription ended that has sent all its output: its id is then free.
    pub(super) fn end_of(&self, handle: SubscriptionHandle) -> Option<EndReason> {
        let id = self.by_handle.get(&handle)?.stream?;
        let stream = self.fanout.stream(id)?;
        stream.end_reason().filter(|_| stream.is_ending())
    }
}

impl ChannelSubscription {
    /// Returns the id of the request without a response; a listen counts as one until it ends.
    pub(super) fn id(&self) -> Option<&RequestId> {
        match &self.origin {
            Origin::Listen(accepted) => Some(&accepted.id),
            Origin::Session { held, .. } => held.as_ref().map(|(id, _)| id),
        }
    }

    /// Returns the response that is held until the stream is open.
    pub(super) fn into_held(self) -> Option<String> {
        match self.origin {
            Origin::Listen(_) => None,
            Origin::Session { held, .. } => held.map(|(_, response)| response),
        }
    }

    /// Returns what its stream honors, if it is opened within `authorized` (`None`: everything).
    pub(super) fn honored(
        &self,
        capabilities: Capabilities,
        authorized: Option<&SubscriptionFilter>,
    ) -> SubscriptionFilter {
        let requested = match &self.origin {
            Origin::Listen(accepted) => &accepted.requested,
            Origin::Session { requested, .. } => requested,
        };
        requested.honored(capabilities, authorized)
    }

    pub(super) fn is_acknowledged(&self) -> bool {
        self.is_acknowledged
    }

    /// Whether the host has not opened or refused the subscription yet.
    pub(super) fn is_opening(&self) -> bool {
        self.stream.is_none()
    }

    /// Creates the stream to open; `None` if it is open.
    fn stream_of(
        &self,
        discovered: Option<&Discovered>,
        authorized: Option<&SubscriptionFilter>,
    ) -> Option<ServerStream> {
        if self.stream.is_some() {
            return None;
        }
        Some(match &self.origin {
            Origin::Listen(accepted) => accepted.open(discovered?, authorized, NEVER, NOW),
            Origin::Session { .. } => session_stream(self.honored(Capabilities::ALL, authorized)),
        })
    }

    fn poll_message(&mut self, fanout: &mut Fanout, is_ready: bool) -> Option<String> {
        loop {
            let held = match &mut self.origin {
                Origin::Listen(_) => &mut None,
                Origin::Session { held: None, .. } if !is_ready => return None,
                Origin::Session { held, .. } => held,
            };
            match fanout.poll_output(self.stream?, NOW)? {
                StreamOutput::Message(message) => {
                    self.is_acknowledged = true;
                    return Some(message);
                }
                StreamOutput::Opened => {
                    if let Some((_, response)) = held.take() {
                        return Some(response);
                    }
                }
                StreamOutput::KeepAlive | StreamOutput::End => return None,
            }
        }
    }
}

fn session_stream(honored: SubscriptionFilter) -> ServerStream {
    ServerStream::with_kind(StreamKind::Session, honored, NEVER, NOW)
}

/// stdio has no keep-alives, so its streams need no clock.
const NEVER: Millis = Millis(0);
pub(super) const NOW: Millis = Millis(0);
