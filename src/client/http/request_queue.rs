use alloc::collections::VecDeque;

use crate::vocabulary::id::Ids;

use crate::client::http::request::HttpRequest;

/// The number of a request, unique within its listener.
pub type RequestHandle = u32;

/// A network operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpAction {
    /// Send the request.
    Send(RequestHandle, HttpRequest),
    /// Close the response to the request, and ignore the rest of it.
    Close(RequestHandle),
}

/// The requests of one listener: their ids, their numbers, and those waiting to be sent.
#[derive(Debug)]
pub(crate) struct RequestQueue {
    pub(crate) ids: Ids,
    calls: RequestHandle,
    actions: VecDeque<HttpAction>,
}

impl RequestQueue {
    pub(crate) fn new(ids: Ids) -> Self {
        Self {
            ids,
            calls: 0,
            actions: VecDeque::new(),
        }
    }

    pub(crate) fn send(&mut self, request: HttpRequest) -> RequestHandle {
        self.calls += 1;
        self.actions
            .push_back(HttpAction::Send(self.calls, request));
        self.calls
    }

    /// Returns the number of the next request.
    pub(crate) fn next_call(&self) -> RequestHandle {
        self.calls + 1
    }

    pub(crate) fn close(&mut self, call: RequestHandle) {
        self.actions.push_back(HttpAction::Close(call));
    }

    pub(crate) fn pop(&mut self) -> Option<HttpAction> {
        self.actions.pop_front()
    }

    /// Drops everything that was not sent yet.
    pub(crate) fn clear(&mut self) {
        self.actions.clear();
    }
}
