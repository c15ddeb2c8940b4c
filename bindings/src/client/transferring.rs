use mcp_listen::client::{Call, Transfer};

use super::lines_of;

/// What is to be done on the network, as JavaScript reads it.
#[derive(Default)]
pub(super) struct Transferring {
    pub(super) call: Call,
    pub(super) method: Option<&'static str>,
    pub(super) headers: String,
    pub(super) body: Option<String>,
}

impl Transferring {
    pub(super) fn of(transfer: Transfer) -> Self {
        match transfer {
            Transfer::Send(call, request) => Self {
                call,
                method: Some(request.method),
                headers: lines_of(&request.headers),
                body: request.body,
            },
            Transfer::Close(call) => Self {
                call,
                ..Self::default()
            },
        }
    }
}
