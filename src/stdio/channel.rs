use alloc::collections::VecDeque;
use alloc::{string::String, vec::Vec};

use crate::{
    json::{self, Document, Node},
    listen::{Accepted, EndReason, ListenOutcome, accept_message},
    message::{self, CANCELLED, LISTEN},
    request::{names_method, version_of},
    vocabulary::{
        capabilities::{Capabilities, Discovered},
        error::{Reason, Rejection},
        event::ServerEvent,
        filter::SubscriptionFilter,
        id::RequestId,
        limits::Limits,
    },
};

use super::{
    lines::{Line, Lines},
    revision::{ChannelRevision, check_opening},
    session::ChannelSession,
    subscriptions::{ChannelSubscriptions, SubscriptionHandle},
};

/// The server side of one stdio connection: takes the client's bytes, holds its subscriptions and
/// writes their lines (2026-07-28, stdio). A client of an earlier revision gets the notifications
/// of its session, which carry no subscription id.
///
/// After each `handle_*` call, poll [`Channel::poll_input`] and [`Channel::poll_line`] (while the
/// transport has room) until they return `None`. Output that is not polled stays collapsed, with
/// one cue per topic and subscription.
#[derive(Debug)]
pub struct Channel {
    pub(super) limits: Limits,
    bounds: ChannelLimits,
    lines: Lines,
    revision: ChannelRevision,
    /// The revision that the MCP server concludes from the lines forwarded to it, without listens.
    revision_behind: ChannelRevision,
    pub(super) session: ChannelSession,
    pub(super) subscriptions: ChannelSubscriptions,
    /// Inputs that resulted from lines of the MCP server.
    pub(super) inputs: VecDeque<Input>,
    /// Rejections and cancellations; at most one for each request of the client.
    pub(super) responses: VecDeque<String>,
    pub(super) is_closing: bool,
}

/// Limits of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelLimits {
    /// Bytes of one line, whether ours or forwarded.
    pub line_bytes: usize,
    /// Subscriptions that are open at the same time.
    pub subscriptions: usize,
}

/// What the host has to do with a line from the client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// Not for this channel: forward these bytes unchanged to the MCP server.
    Forward(Vec<u8>),
    /// A valid listen request: respond with [`Channel::open`] or [`Channel::refuse`].
    Listen {
        /// The handle of the subscription.
        handle: SubscriptionHandle,
        /// The requested filter.
        requested: SubscriptionFilter,
    },
    /// Notifications for a client of an earlier revision: respond with [`Channel::open_session`] or
    /// [`Channel::refuse`].
    Session {
        /// The handle of the subscription.
        handle: SubscriptionHandle,
        /// The requested filter.
        requested: SubscriptionFilter,
    },
}

impl Channel {
    /// Creates a channel for a new connection.
    pub fn new(limits: Limits, bounds: ChannelLimits) -> Self {
        Self {
            lines: Lines::new(bounds.line_bytes),
            limits,
            bounds,
            revision: ChannelRevision::Undecided,
            revision_behind: ChannelRevision::Undecided,
            session: ChannelSession::default(),
            subscriptions: ChannelSubscriptions::default(),
            inputs: VecDeque::new(),
            responses: VecDeque::new(),
            is_closing: false,
        }
    }

    /// Handles bytes from the client.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.lines.handle_bytes(bytes);
    }

    /// Handles the end of the client's bytes: all subscriptions end silently. Returns the rest to
    /// forward to the MCP server, a last line without a line feed.
    pub fn handle_end(&mut self) -> Vec<u8> {
        self.is_closing = true;
        self.responses.clear();
        for handle in self.subscriptions.all() {
            self.drop_subscription(handle);
        }
        self.lines.finish()
    }

    /// Accepts the request, within what `authorized` names (`None`: everything). From now on the
    /// subscription receives what is published.
    pub fn open(
        &mut self,
        handle: SubscriptionHandle,
        discovered: &Discovered,
        authorized: Option<&SubscriptionFilter>,
    ) {
        self.subscriptions
            .open(handle, Some(discovered), authorized);
    }

    /// Whether the subscription has not ended.
    pub fn holds(&self, handle: SubscriptionHandle) -> bool {
        self.subscriptions.get(handle).is_some()
    }

    /// Returns what the subscription honors, if it is opened within `capabilities` and `authorized`
    /// (`None`: everything); `None` if it has ended.
    pub fn honored(
        &self,
        handle: SubscriptionHandle,
        capabilities: Capabilities,
        authorized: Option<&SubscriptionFilter>,
    ) -> Option<SubscriptionFilter> {
        let subscription = self.subscriptions.get(handle)?;
        Some(subscription.honored(capabilities, authorized))
    }

    /// Rejects the request. Does nothing if it has a response or was cancelled already.
    pub fn refuse(&mut self, handle: SubscriptionHandle, reason: Reason) {
        let subscription = self.subscriptions.change(handle);
        let is_opening = subscription.is_some_and(|it| it.is_opening());
        if is_opening && let Some(id) = self.drop_subscription(handle) {
            self.reject_with(&Rejection::new(reason, Some(id)));
        }
    }

    /// Handles events that were published, in this order.
    pub fn handle_events(&mut self, events: Vec<ServerEvent>) {
        self.subscriptions.publish(events);
    }

    /// Handles a possible loss of events: cues once everything that each subscription honors.
    pub fn handle_gap(&mut self) {
        self.subscriptions.handle_gap();
    }

    /// Handles the permanent loss of the bus. A stream over HTTP would just break off, as at every
    /// end without a result; here the client gets a cancellation of each acknowledged subscription,
    /// and an error for each other listen request. A session has no such message.
    pub fn handle_bus_closed(&mut self) {
        for handle in self.subscriptions.all() {
            let subscription = self.subscriptions.change(handle);
            let is_acknowledged = subscription.is_some_and(|it| it.is_acknowledged());
            let Some(id) = self.drop_subscription(handle) else {
                continue;
            };
            if is_acknowledged {
                self.responses.push_back(message::cancelled(&id));
            } else {
                self.reject_with(&Rejection::new(Reason::Unavailable, Some(id)));
            }
        }
    }

    /// Ends all subscriptions gracefully, each with its pending output and then its result. Rejects
    /// requests that are not accepted yet, and later ones.
    pub fn close(&mut self) {
        self.is_closing = true;
        for handle in self.subscriptions.all() {
            self.refuse(handle, Reason::Closing);
            self.subscriptions.close(handle);
        }
    }

    /// Handles a possible loss of events when all subscriptions are about to close: the cues come
    /// before the results, and subscriptions to tasks end without one.
    pub fn handle_loss_at_close(&mut self) {
        self.subscriptions.handle_loss_at_close();
    }

    /// Returns what to do with the client's next line, or `None` until more bytes arrive.
    pub fn poll_input(&mut self) -> Option<Input> {
        loop {
            if let Some(input) = self.inputs.pop_front() {
                return Some(input);
            }
            match self.lines.poll_line()? {
                Line::TooLong => self.reject_with(&Rejection::new(Reason::BodyTooLarge, None)),
                Line::Whole(line) => {
                    if let Some(input) = self.handle_line(line) {
                        return Some(input);
                    }
                }
            }
        }
    }

    /// Returns the next line for the client, or `None` until the next `handle_*` call.
    pub fn poll_line(&mut self) -> Option<String> {
        let is_ready = self.session.is_initialized();
        loop {
            if let Some(response) = self.responses.pop_front() {
                return Some(response + "\n");
            }
            let (handle, message) = self.subscriptions.poll_message(is_ready)?;
            if let Some(reason) = self.subscriptions.end_of(handle)
                && let Some(id) = self.drop_subscription(handle)
                && reason != EndReason::Closed
            {
                self.responses.push_back(message::cancelled(&id));
            }
            if let Some(message) = message {
                return Some(message + "\n");
            }
        }
    }

    /// Returns the number of subscriptions, including those that the host has not opened or refused
    /// yet.
    pub fn subscriptions(&self) -> usize {
        self.subscriptions.len()
    }

    /// Returns the number of responses waiting to be written; further input may add more.
    pub fn pending_responses(&self) -> usize {
        self.responses.len()
    }

    fn handle_line(&mut self, line: Vec<u8>) -> Option<Input> {
        let Ok(document) = json::read(&line, self.limits.depth) else {
            return Some(Input::Forward(line));
        };
        if self.revision == ChannelRevision::Legacy {
            let is_passed = self.handle_legacy(&document);
            return is_passed.then_some(Input::Forward(line));
        }
        if self.is_listen(&document.root) {
            let is_whole = line.trim_ascii().len() <= self.limits.body_bytes;
            return self.handle_listen(&document, is_whole);
        }
        if let Some(handle) = self.cancels(&document) {
            self.drop_subscription(handle);
            return None;
        }
        if self.would_mislead(&document.root) {
            self.refuse_bare(&document.root);
            return None;
        }
        self.revision = self.revision.after(&document.root);
        self.revision_behind = self.revision_behind.after(&document.root);
        if self.revision == ChannelRevision::Legacy {
            self.handle_legacy(&document);
        }
        Some(Input::Forward(line))
    }

    /// A listen without `_meta` belongs to this revision if the client has used this revision
    /// before.
    fn is_listen(&self, root: &Node<'_>) -> bool {
        let is_modern = self.revision != ChannelRevision::Undecided || version_of(root).is_some();
        is_modern && names_method(root, LISTEN)
    }

    fn handle_listen(&mut self, document: &Document<'_>, is_whole: bool) -> Option<Input> {
        self.revision = self.revision.after(&document.root);
        let accepted = match accept_message(document, is_whole, &self.limits) {
            ListenOutcome::Accepted(accepted) => accepted,
            ListenOutcome::Rejected(rejection) => {
                self.reject_with(&rejection);
                return None;
            }
        };
        if let Some(reason) = self.problem_of(&accepted) {
            self.reject_with(&Rejection::new(reason, Some(accepted.id)));
            return None;
        }
        let requested = accepted.requested.clone();
        let handle = self.subscriptions.insert(accepted);
        Some(Input::Listen { handle, requested })
    }

    fn problem_of(&self, accepted: &Accepted) -> Option<Reason> {
        if self.subscriptions.holds(&accepted.id) {
            return Some(Reason::InvalidRequest(
                "The id is in use by an open subscription",
            ));
        }
        if self.is_closing {
            return Some(Reason::Closing);
        }
        let is_full = self.subscriptions.len() >= self.bounds.subscriptions;
        is_full.then_some(Reason::TooManyStreams)
    }

    /// Returns the subscription that a well-formed `notifications/cancelled` ends (2026-07-28,
    /// Cancellation).
    fn cancels(&self, document: &Document<'_>) -> Option<SubscriptionHandle> {
        let root = &document.root;
        let is_notification = names_method(root, CANCELLED)
            && root.get("id").is_none()
            && !document.has_duplicate_key;
        let id = root.get("params")?.get("requestId")?;
        let id = RequestId::from_node(id, self.limits.id_bytes)?;
        self.subscriptions
            .handle_of(&id)
            .filter(|_| is_notification)
    }

    /// Whether the MCP server, which has seen nothing of this revision yet, would take a message
    /// without `_meta` from a modern client for one of an earlier revision.
    fn would_mislead(&self, root: &Node<'_>) -> bool {
        let is_bare = root.get("method").is_some() && version_of(root).is_none();
        is_bare
            && self.revision == ChannelRevision::Modern
            && self.revision_behind != ChannelRevision::Modern
    }

    /// Rejects a request without `_meta`. Drops such a notification, which cannot concern anything
    /// that the MCP server does.
    fn refuse_bare(&mut self, root: &Node<'_>) {
        let Some(id) = root.get("id") else {
            return;
        };
        let id = RequestId::from_node(id, self.limits.id_bytes);
        if let Err(reason) = check_opening(root) {
            self.reject_with(&Rejection::new(reason, id));
        }
    }

    pub(super) fn reject_with(&mut self, rejection: &Rejection) {
        self.responses.push_back(message::error(rejection));
    }

    fn drop_subscription(&mut self, handle: SubscriptionHandle) -> Option<RequestId> {
        let subscription = self.subscriptions.remove(handle)?;
        self.session.unwatch_number(handle);
        subscription.id().cloned()
    }
}
