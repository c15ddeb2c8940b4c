use alloc::collections::VecDeque;
use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    http::Headers,
    vocabulary::{id::RequestId, uri::Uri},
};

use crate::client::{
    end::{CloseReason, Loss},
    http::{
        buffered_response::BufferedResponse,
        request_queue::{RequestHandle, RequestQueue},
    },
    revision::is_transient,
    session::{self, ClientSession},
};

/// The resources that a session subscribes to, a few at a time.
#[derive(Debug)]
pub(crate) struct ResourceSubscriptions {
    waiting: VecDeque<Uri>,
    asked: Vec<Asked>,
    max_concurrent: usize,
}

/// What the response to a `resources/subscribe` says.
#[derive(Debug)]
pub(crate) enum SubscribeOutcome {
    Accepted,
    /// The server does not report changes of the resource.
    Refused,
    /// Nothing about the resource: the session cannot continue. The server may have said when to
    /// try again.
    Failed(CloseReason, Option<Millis>),
}

#[derive(Debug)]
struct Asked {
    call: RequestHandle,
    id: RequestId,
    uri: Uri,
    reply: BufferedResponse,
}

impl ResourceSubscriptions {
    pub(crate) fn new(uris: &[Uri]) -> Self {
        Self {
            waiting: uris.iter().cloned().collect(),
            asked: Vec::new(),
            max_concurrent: MAX_CONCURRENT,
        }
    }

    /// Lifts the bound on concurrent requests: on a channel they do not occupy connections.
    pub(crate) fn lift_limit(&mut self) {
        self.max_concurrent = usize::MAX;
    }

    /// Sends as many requests as may be pending at the same time.
    pub(crate) fn ask(&mut self, session: &ClientSession, queue: &mut RequestQueue) {
        while self.asked.len() < self.max_concurrent
            && let Some(uri) = self.waiting.pop_front()
        {
            let id = queue.ids.mint();
            let call = queue.send(session.subscribe(&id, &uri));
            let reply = BufferedResponse::default();
            self.asked.push(Asked {
                call,
                id,
                uri,
                reply,
            });
        }
    }

    pub(crate) fn handle_head(&mut self, call: RequestHandle, status: u16, headers: &Headers<'_>) {
        if let Some(asked) = self.find(call) {
            asked.reply.begin(status, headers);
        }
    }

    pub(crate) fn handle_bytes(&mut self, call: RequestHandle, bytes: &[u8], max_bytes: usize) {
        if let Some(asked) = self.find(call) {
            asked.reply.push(bytes, max_bytes);
        }
    }

    /// Handles the complete response to `call`. Returns its resource and what it says.
    pub(crate) fn handle_end(
        &mut self,
        call: RequestHandle,
        session: &ClientSession,
    ) -> Option<(Uri, SubscribeOutcome)> {
        let place = self.asked.iter().position(|asked| asked.call == call)?;
        let Asked { uri, reply, .. } = self.asked.swap_remove(place);
        let outcome = SubscribeOutcome::of(&reply, session, &uri);
        Some((uri, outcome))
    }

    /// Handles the response to a request on a channel. Returns its resource and what it says.
    pub(crate) fn handle_line(
        &mut self,
        id: &RequestId,
        is_result: bool,
    ) -> Option<(Uri, SubscribeOutcome)> {
        let place = self.asked.iter().position(|asked| asked.id == *id)?;
        let uri = self.asked.swap_remove(place).uri;
        Some((uri, SubscribeOutcome::of_message(is_result)))
    }

    /// Whether all requests have a response.
    pub(crate) fn is_done(&self) -> bool {
        self.asked.is_empty() && self.waiting.is_empty()
    }

    fn find(&mut self, call: RequestHandle) -> Option<&mut Asked> {
        self.asked.iter_mut().find(|asked| asked.call == call)
    }
}

impl SubscribeOutcome {
    fn of(reply: &BufferedResponse, session: &ClientSession, uri: &Uri) -> Self {
        let lost = Self::Failed(CloseReason::Lost(Loss::Disconnected), None);
        match reply.status() {
            Some(200..300) if !reply.is_too_large() => {
                session::is_accepted(reply.body()).map_or(lost, Self::of_message)
            }
            // The session is gone (2025-11-25, Transports: Session Management).
            None | Some(404) => lost,
            Some(400) if session.is_unknown_in(reply.body(), uri) => lost,
            // A 403 may concern this resource alone.
            Some(status) if status != 403 && is_transient(status) => {
                let end = CloseReason::refused(status, None, String::new());
                Self::Failed(end, reply.retry_after())
            }
            Some(_) => Self::Refused,
        }
    }

    fn of_message(is_result: bool) -> Self {
        if is_result {
            Self::Accepted
        } else {
            Self::Refused
        }
    }
}

/// A browser allows six connections to a server, of which the stream takes one.
const MAX_CONCURRENT: usize = 4;
