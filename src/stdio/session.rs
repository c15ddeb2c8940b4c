use alloc::string::String;

use crate::{
    json, legacy, message,
    sorted::Map,
    vocabulary::{capabilities::Capabilities, filter::SubscriptionFilter, id::RequestId, uri::Uri},
};

use super::subscriptions::SubscriptionHandle;

/// The state of a channel for a client of an earlier revision (2025-11-25, Lifecycle; Resources:
/// Subscriptions).
#[derive(Debug, Default)]
pub(super) struct ChannelSession {
    /// The notification capabilities that the host has set, if any.
    known: Option<Capabilities>,
    /// The capabilities in the response to the client's `initialize`.
    agreed: Option<Capabilities>,
    is_initialized: bool,
    has_lists: bool,
    awaited: Map<RequestId, Awaited>,
    watched: Map<Uri, SubscriptionHandle>,
}

/// A request to which the MCP server has not responded yet.
#[derive(Clone, Debug)]
pub(super) enum Awaited {
    Initialize,
    /// On success, the resource is watched.
    Subscribe(Uri),
    /// The response has no effect.
    Else,
}

/// The treatment of a line from the MCP server.
#[derive(Debug)]
pub(super) enum LineOutcome {
    /// Forward it to the client unchanged.
    AsItIs,
    /// Send the client this line instead.
    Instead(String),
    /// Send the client this message once the bus has confirmed the registration for the resource.
    Watching {
        id: RequestId,
        message: String,
        uri: Uri,
    },
}

impl ChannelSession {
    pub(super) fn new(known: Option<Capabilities>) -> Self {
        Self {
            known,
            ..Self::default()
        }
    }

    /// Whether the client accepts notifications: it has confirmed the session.
    pub(super) fn is_initialized(&self) -> bool {
        self.is_initialized
    }

    pub(super) fn handle_initialized(&mut self) {
        self.is_initialized = true;
    }

    pub(super) fn offers_subscribe(&self) -> bool {
        self.agreed.is_some_and(|agreed| agreed.resources_subscribe)
    }

    /// Whether another resource would exceed the limit, including those without a response yet.
    pub(super) fn is_full(&self, uri: &Uri, limit: usize) -> bool {
        let subscribing = |awaited: &&Awaited| matches!(awaited, Awaited::Subscribe(_));
        let coming = self.awaited.values().filter(subscribing).count();
        !self.watched.contains_key(uri) && self.watched.len() + coming >= limit
    }

    pub(super) fn await_response(&mut self, id: RequestId, to: Awaited) {
        self.awaited.insert(id, to);
    }

    /// Drops a request that the client cancelled: it may never get a response.
    pub(super) fn forget(&mut self, id: &RequestId) {
        self.awaited.remove(id);
    }

    pub(super) fn awaits_responses(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Returns the filter for the lists, once: when the capabilities are negotiated and the client
    /// has confirmed the session.
    pub(super) fn lists(&mut self) -> Option<SubscriptionFilter> {
        let agreed = self.agreed.filter(|_| self.is_initialized)?;
        let lists = SubscriptionFilter::lists(agreed);
        let is_news = !core::mem::replace(&mut self.has_lists, true);
        (is_news && !lists.is_empty()).then_some(lists)
    }

    pub(super) fn watch(&mut self, uri: Uri, handle: SubscriptionHandle) {
        self.watched.insert(uri, handle);
    }

    /// Stops watching a resource, and cancels the effect of pending requests to watch it.
    pub(super) fn unwatch(&mut self, uri: &Uri) -> Option<SubscriptionHandle> {
        for awaited in self.awaited.values_mut() {
            if matches!(awaited, Awaited::Subscribe(coming) if coming == uri) {
                *awaited = Awaited::Else;
            }
        }
        self.watched.remove(uri)
    }

    pub(super) fn unwatch_number(&mut self, handle: SubscriptionHandle) {
        self.watched.retain(|_, watching| *watching != handle);
    }

    /// Handles a line from the MCP server. If that server does not implement a method to subscribe,
    /// responds to the client in its place.
    pub(super) fn handle_line(&mut self, line: &[u8]) -> LineOutcome {
        let Some((id, awaited, has_method)) = self.take_awaited(line) else {
            return LineOutcome::AsItIs;
        };
        let instead = (!has_method).then(|| message::result(&id, "{}"));
        match awaited {
            Awaited::Initialize => self.handle_agreed(&id, line),
            Awaited::Else => instead.map_or(LineOutcome::AsItIs, LineOutcome::Instead),
            Awaited::Subscribe(uri) => {
                let own = || String::from_utf8_lossy(line.trim_ascii()).into_owned();
                let message = instead.unwrap_or_else(own);
                if self.watched.contains_key(&uri) {
                    return LineOutcome::Instead(message);
                }
                LineOutcome::Watching { id, message, uri }
            }
        }
    }

    fn handle_agreed(&mut self, id: &RequestId, line: &[u8]) -> LineOutcome {
        let Some(agreed) = legacy::agreed(id, line, self.known) else {
            return LineOutcome::AsItIs;
        };
        self.agreed = Some(agreed.capabilities);
        match self.known {
            Some(_) => LineOutcome::Instead(agreed.response),
            None => LineOutcome::AsItIs,
        }
    }

    /// Returns the pending request to which the line is the response, and whether the MCP server
    /// implements its method. A response with any other error has no effect.
    fn take_awaited(&mut self, line: &[u8]) -> Option<(RequestId, Awaited, bool)> {
        let document = json::read(line, json::MAX_PEER_DEPTH).ok()?;
        let root = &document.root;
        let id = RequestId::from_node(root.get("id")?, usize::MAX)?;
        if root.get("method").is_some() {
            return None;
        }
        let awaited = self.awaited.remove(&id)?;
        let code = root.get("error").and_then(|error| error.get("code"));
        let has_method = code.is_none_or(|code| code.raw != METHOD_NOT_FOUND);
        let is_followed = root.get("result").is_some() || !has_method;
        is_followed.then_some((id, awaited, has_method))
    }
}

/// The code of an error, as JSON text.
const METHOD_NOT_FOUND: &str = "-32601";
