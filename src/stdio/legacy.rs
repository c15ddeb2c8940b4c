use alloc::{string::String, vec::Vec};

use crate::{
    json::{Document, Node},
    legacy::{self, Call},
    listen::{id_of, names_method, version_of},
    message::CANCELLED,
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
    session::{Answered, Awaited, Session},
    subscriptions::Number,
};

/// Clients of earlier revisions: what they and the server behind agree on is followed on its way.
impl Channel {
    /// What the server really notifies about; otherwise its answer to `initialize` is believed.
    #[must_use]
    pub fn with_capabilities(mut self, known: Option<Capabilities>) -> Self {
        self.session = Session::new(known);
        self
    }

    /// The host lets a client of an earlier revision hear what it asked for; otherwise as [`Channel::open`].
    pub fn watch(&mut self, number: Number, authorized: Option<&SubscriptionFilter>) {
        self.subscriptions.open(number, None, authorized);
    }

    /// Whether the server behind has yet to answer what concerns us: only then its lines need to come here.
    pub fn awaits_answers(&self) -> bool {
        self.session.awaits_answers()
    }

    /// A line of the server behind: the answer is what the client gets in its place now.
    pub fn handle_server_line(&mut self, line: Vec<u8>) -> Option<Vec<u8>> {
        let instead = match self.session.handle_answer(&line) {
            Answered::AsItIs => Some(line),
            Answered::Instead(message) => Some((message + "\n").into_bytes()),
            Answered::Watching { id, message, uri } => {
                self.watch_resource(id, message, uri);
                None
            }
        };
        self.watch_lists();
        instead
    }

    /// Follows a message of an earlier revision; the answer is whether the server behind gets it.
    pub(super) fn handle_legacy(&mut self, document: &Document<'_>) -> bool {
        if version_of(&document.root).is_some() {
            return true;
        }
        let id = id_of(document, &self.limits);
        let Ok(call) = legacy::message_of(document, id.as_ref(), &self.limits) else {
            return true;
        };
        match (call, id) {
            (Call::Initialize, Some(id)) => self.session.await_answer(id, Awaited::Initialize),
            (Call::Initialized, _) => self.handle_initialized(),
            (Call::Other, _) => self.handle_legacy_cancel(&document.root),
            (call, Some(id)) if self.session.offers_subscribe() && !self.is_closing => {
                return self.handle_watching(call, id);
            }
            _ => {}
        }
        true
    }

    fn handle_watching(&mut self, call: Call, id: RequestId) -> bool {
        let limit = self.limits.uris;
        let refusal = match call {
            Call::Subscribe(uri) if self.session.is_full(&uri, limit) => Reason::LimitExceeded {
                what: "Too many resource URIs",
                limit,
            },
            Call::Subscribe(uri) => {
                self.session.await_answer(id, Awaited::Subscribe(uri));
                return true;
            }
            Call::Unsubscribe(uri) => {
                self.unwatch(&uri);
                self.session.await_answer(id, Awaited::Else);
                return true;
            }
            Call::Invalid(reason) => reason,
            _ => return true,
        };
        self.answer(&Rejection::new(refusal, Some(id)));
        false
    }

    /// A subscription that is taken back before its stream is open was one all the same.
    fn unwatch(&mut self, uri: &Uri) {
        let Some(number) = self.session.unwatch(uri) else {
            return;
        };
        if let Some(subscription) = self.subscriptions.remove(number) {
            self.answers.extend(subscription.into_held());
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
            let number = self.subscriptions.insert_unstamped(requested.clone(), None);
            self.inputs.push_back(Input::Watch { number, requested });
        }
    }

    fn watch_resource(&mut self, id: RequestId, message: String, uri: Uri) {
        let requested = SubscriptionFilter {
            resource_subscriptions: vec![uri.clone()],
            ..SubscriptionFilter::default()
        };
        let held = Some((id, message));
        let number = self.subscriptions.insert_unstamped(requested.clone(), held);
        self.session.watch(uri, number);
        self.inputs.push_back(Input::Watch { number, requested });
    }
}
