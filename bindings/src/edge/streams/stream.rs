use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::Capabilities,
    isolate::{self, SessionStart},
    listen::ServerStream,
    position::Cursor,
};

use crate::edge::options::filter_of;

/// A stream that is not held by a fan-out: it is new, or was moved out of one.
#[wasm_bindgen]
pub struct Stream {
    pub(crate) inner: ServerStream,
    /// The mark in the log of a bus up to which it was given every event.
    pub(crate) since: Option<Cursor>,
    /// How it joins its session, for the stream of one.
    pub(crate) start: Option<SessionStart>,
}

/// States of a stream that is held, as bits of one number.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum StreamState {
    /// The bus has not confirmed the registration yet.
    Opening = 1,
    /// Nothing is left to poll, with or without room.
    Ended = 2,
    /// All remaining output has to be written at once, with or without room.
    Frozen = 4,
    /// Output is withheld until `renew`.
    Asking = 8,
}

impl StreamState {
    /// Returns the sum of the matching states.
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

#[wasm_bindgen]
impl Stream {
    /// Returns what the stream honors, as the JSON text of a filter.
    pub fn honored(&self) -> String {
        self.inner.honored().to_json()
    }

    /// Narrows what the stream honors to what `permit` (JSON text of a filter) names too. Call it
    /// before the stream is opened.
    pub fn narrow(&mut self, permit: &str) -> Result<(), JsValue> {
        let permit = filter_of(permit)?;
        let honored = self.inner.honored();
        let narrowed = honored.honored(Capabilities::ALL, Some(&permit));
        self.inner.handle_filter(narrowed);
        Ok(())
    }
}

impl From<ServerStream> for Stream {
    fn from(stream: ServerStream) -> Self {
        Self {
            inner: stream,
            since: None,
            start: None,
        }
    }
}

impl From<isolate::MovedStream> for Stream {
    fn from(isolate::MovedStream { stream, since, .. }: isolate::MovedStream) -> Self {
        Self {
            since,
            ..stream.into()
        }
    }
}
