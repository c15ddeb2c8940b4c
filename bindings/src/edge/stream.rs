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

#[wasm_bindgen]
impl Stream {
    /// Whether nothing at all is honored: no bus is needed.
    #[wasm_bindgen(getter, js_name = honorsNothing)]
    pub fn honors_nothing(&self) -> bool {
        self.inner.honored().is_empty()
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
