use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::{
    http::Headers,
    vocabulary::{id::RequestId, uri::Uri},
};

use crate::client::{
    http::{
        buffered_response::BufferedResponse,
        request_queue::{RequestHandle, RequestQueue},
        response::is_success,
    },
    session::{self, ClientSession},
};

/// The resources that a session subscribes to, a few at a time.
#[derive(Debug)]
pub(crate) struct ResourceSubscriptions {
    waiting: VecDeque<Uri>,
    asked: Vec<Asked>,
    max_concurrent: usize,
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

    /// Handles the complete response to `call`. Returns its resource, and whether the server
    /// accepted the subscription.
    pub(crate) fn handle_end(&mut self, call: RequestHandle) -> Option<(Uri, bool)> {
        let place = self.asked.iter().position(|asked| asked.call == call)?;
        let Asked { uri, reply, .. } = self.asked.swap_remove(place);
        let is_accepted = reply.status().is_some_and(is_success)
            && !reply.is_too_large()
            && session::is_accepted(reply.body());
        Some((uri, is_accepted))
    }

    /// Handles the response to a request on a channel. Returns its resource.
    pub(crate) fn handle_line(&mut self, id: &RequestId) -> Option<Uri> {
        let place = self.asked.iter().position(|asked| asked.id == *id)?;
        Some(self.asked.swap_remove(place).uri)
    }

    /// Whether all requests have a response.
    pub(crate) fn is_done(&self) -> bool {
        self.asked.is_empty() && self.waiting.is_empty()
    }

    fn find(&mut self, call: RequestHandle) -> Option<&mut Asked> {
        self.asked.iter_mut().find(|asked| asked.call == call)
    }
}

/// A browser allows six connections to a server, of which the stream takes one.
const MAX_CONCURRENT: usize = 4;
