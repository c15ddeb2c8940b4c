use alloc::collections::VecDeque;

use crate::vocabulary::id::Ids;

use crate::client::http::request::HttpRequest;

/// The number of a request, unique within its listener.
pub type Call = u32;

/// A network operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Send the request.
    Send(Call, HttpRequest),
    /// Close the response to the request, and ignore the rest of it.
    Close(Call),
}

/// The requests of one listener: their ids, their numbers, and those waiting to be sent.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) ids: Ids,
    calls: Call,
    transfers: VecDeque<Transfer>,
}

impl Wire {
    pub(crate) fn new(ids: Ids) -> Self {
        Self {
            ids,
            calls: 0,
            transfers: VecDeque::new(),
        }
    }

    pub(crate) fn send(&mut self, request: HttpRequest) -> Call {
        self.calls += 1;
        self.transfers
            .push_back(Transfer::Send(self.calls, request));
        self.calls
    }

    pub(crate) fn close(&mut self, call: Call) {
        self.transfers.push_back(Transfer::Close(call));
    }

    pub(crate) fn pop(&mut self) -> Option<Transfer> {
        self.transfers.pop_front()
    }

    /// Drops everything that was not sent yet.
    pub(crate) fn clear(&mut self) {
        self.transfers.clear();
    }
}
