use alloc::{string::String, vec::Vec};

use crate::{
    json::{Document, Node},
    legacy::{self, LegacyCall},
    message::CANCELLED,
    request::{id_of, names_method, version_of},
    vocabulary::{
        capabilities::Capabilities,
        error::{Reason, Rejection},
        filter::SubscriptionFilter,
        id::RequestId,
        uri::Uri,
    },
};

use super::{
    channel::{Channel, Input},
    session::{Awaited, ChannelSession, LineOutcome},
    subscriptions::SubscriptionHandle,
};

/// Clients of earlier revisions: observes what they and the MCP server agree on.
impl Channel {
    /// Replaces the notification capabilities in the MCP server's response to `initialize`. `None`
    /// leaves them as they are.
    #[must_use]
    pub fn with_capabilities(mut self, known: Option<Capabilities>) -> Self {
        self.session = ChannelSession::new(known);
        self
    }

    /// Accepts the notifications that a client of an earlier revision requested; otherwise as
    /// [`Channel::open`]. Call it again to change what is authorized.
    pub fn open_session(
        &mut self,
        handle: SubscriptionHandle,
        authorized: Option<&SubscriptionFilter>,
    ) {
        self.subscriptions.open_session(handle, authorized);
    }

    /// Whether a response of the MCP server that concerns this channel is pending. Its lines have
    /// to be passed to [`Channel::handle_server_line`] only then.
    pub fn awaits_responses(&self) -> bool {
        self.session.awaits_responses()
    }

    /// Handles a line from the MCP server. Returns the line to send to the client now in its place.
    pub fn handle_server_line(&mut self, line: Vec<u8>) -> Option<Vec<u8>> {
        let instead = match self.session.handle_line(&line) {
            LineOutcome::AsItIs => Some(line),
            LineOutcome::Instead(message) => Some((message + "\n").into_bytes()),
            LineOutcome::Watching { id, message, uri } => {
                self.watch_resource(id, message, uri);
                None
            }
        };
        self.watch_lists();
        instead
    }

    /// Observes a message of an earlier revision. Returns whether to forward it to the MCP server.
    pub(super) fn handle_legacy(&mut self, document: &Document<'_>) -> bool {
        if version_of(&document.root).is_some() {
            return true;
        }
        let id = id_of(document, &self.limits);
        let Ok(call) = legacy::message_of(document, id.as_ref(), &self.limits) else {
            return true;
        };
        match (call, id) {
            (LegacyCall::Initialize, Some(id)) => {
                self.session.await_response(id, Awaited::Initialize);
            }
            (LegacyCall::Initialized, _) => self.handle_initialized(),
            (LegacyCall::Other, _) => self.handle_legacy_cancel(&document.root),
            (call, Some(id)) if self.session.offers_subscribe() && !self.is_closing => {
                return self.handle_watching(call, id);
            }
            _ => {}
        }
        true
    }

    fn handle_watching(&mut self, call: LegacyCall, id: RequestId) -> bool {
        let limit = self.limits.uris;
        let refusal = match call {
            LegacyCall::Subscribe(uri) if self.session.is_full(&uri, limit) => {
                Reason::LimitExceeded {
                    what: "Too many resource URIs",
                    limit,
                }
            }
            LegacyCall::Subscribe(uri) => {
                self.session.await_response(id, Awaited::Subscribe(uri));
                return true;
            }
            LegacyCall::Unsubscribe(uri) => {
                self.unwatch(&uri);
                self.session.await_response(id, Awaited::Else);
                return true;
            }
            LegacyCall::Invalid(reason) => reason,
            _ => return true,
        };
        self.reject_with(&Rejection::new(refusal, Some(id)));
        false
    }

    /// Unsubscribes from a resource. A subscribe request whose stream is not open yet
    /// succeeds.
    fn unwatch(&mut self, uri: &Uri) {
        let Some(handle) = self.session.unwatch(uri) else {
            return;
        };
        if let Some(subscription) = self.subscriptions.remove(handle) {
            self.responses.extend(subscription.into_held());
        }
    }

    fn handle_legacy_cancel(&mut self, root: &Node<'_>) {
        let id = root
            .get("params")
            .and_then(|params| params.get("requestId"));
        let id = id.and_then(|id| RequestId::from_node(id, self.limits.id_bytes));
        if let Some(id) = id.filter(|_| names_method(root, CANCELLED)) {
            self.session.forget(&id);
        }
    }

    fn handle_initialized(&mut self) {
        self.session.handle_initialized();
        self.subscriptions.change_all();
        self.watch_lists();
    }

    fn watch_lists(&mut self) {
        if let Some(requested) = self.session.lists() {
            let handle = self.subscriptions.insert_session(requested.clone(), None);
            self.inputs.push_back(Input::Session { handle, requested });
        }
    }

    fn watch_resource(&mut self, id: RequestId, message: String, uri: Uri) {
        let requested = SubscriptionFilter {
            resource_subscriptions: vec![uri.clone()],
            ..SubscriptionFilter::default()
        };
        let held = Some((id, message));
        let handle = self.subscriptions.insert_session(requested.clone(), held);
        self.session.watch(uri, handle);
        self.inputs.push_back(Input::Session { handle, requested });
    }
}
