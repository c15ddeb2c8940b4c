use alloc::collections::VecDeque;

use crate::id::Ids;

use super::request::HttpRequest;

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
pub(super) struct Wire {
    pub(super) ids: Ids,
    calls: Call,
    transfers: VecDeque<Transfer>,
}

impl Wire {
    pub(super) fn new(ids: Ids) -> Self {
        Self {
            ids,
            calls: 0,
            transfers: VecDeque::new(),
        }
    }

    pub(super) fn send(&mut self, request: HttpRequest) -> Call {
        self.calls += 1;
        self.transfers
            .push_back(Transfer::Send(self.calls, request));
        self.calls
    }

    pub(super) fn close(&mut self, call: Call) {
        self.transfers.push_back(Transfer::Close(call));
    }

    pub(super) fn pop(&mut self) -> Option<Transfer> {
        self.transfers.pop_front()
    }

    /// What was not sent yet never is.
    pub(super) fn clear(&mut self) {
        self.transfers.clear();
    }
}
