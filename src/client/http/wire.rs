use alloc::collections::VecDeque;

use crate::vocabulary::id::Ids;

use crate::client::http::request::HttpRequest;

/// The number of a request: none is given twice.
pub type Call = u32;

/// What to do on the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Send the request.
    Send(Call, HttpRequest),
    /// Close the response of the request, whose rest is nobody's.
    Close(Call),
}

/// The requests of one listener: their ids, their numbers, and what waits to be sent.
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

    /// What was not sent yet never is.
    pub(crate) fn clear(&mut self) {
        self.transfers.clear();
    }
}
