use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::Mark,
    isolate::{self, Joining},
    listen::ServerStream,
};

/// A stream that is held nowhere yet, or no longer where it was.
#[wasm_bindgen]
pub struct Stream {
    pub(crate) inner: ServerStream,
    /// Up to where in the log of a bus it was given everything.
    pub(crate) since: Option<Mark>,
    /// Where it is that of a session.
    pub(crate) joining: Option<Joining>,
}

/// What may hold of a stream that is held, as bits of one number.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum StreamState {
    /// The bus has yet to confirm.
    Opening = 1,
    /// There is nothing more to poll, whatever room there is.
    Ended = 2,
    /// All that is left to be polled is to be written at once, whatever room there is.
    Frozen = 4,
    /// What is to be written waits for `renew`.
    Asking = 8,
}

impl StreamState {
    /// The sum of those that hold.
    pub(crate) fn of(stream: &ServerStream) -> u32 {
        let states = [
            (Self::Opening, stream.is_opening()),
            (Self::Ended, stream.is_ending()),
            (Self::Frozen, stream.is_frozen()),
            (Self::Asking, stream.is_asking()),
        ];
        let hold = states.into_iter().filter(|(_, holds)| *holds);
        hold.map(|(state, _)| state as u32).sum()
    }
}

impl Stream {
    /// That of a session.
    pub(crate) fn resuming(stream: ServerStream, joining: Joining) -> Self {
        Self {
            joining: Some(joining),
            ..stream.into()
        }
    }
}

impl From<ServerStream> for Stream {
    fn from(stream: ServerStream) -> Self {
        Self {
            inner: stream,
            since: None,
            joining: None,
        }
    }
}

impl From<isolate::Parted> for Stream {
    fn from(isolate::Parted { stream, since, .. }: isolate::Parted) -> Self {
        Self {
            since,
            ..stream.into()
        }
    }
}
