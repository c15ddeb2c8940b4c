use wasm_bindgen::prelude::*;

use crate::{bus::Mark, isolate, listen::ServerStream};

/// A stream that is held nowhere yet, or no longer where it was.
#[wasm_bindgen]
pub struct Stream {
    pub(super) stream: ServerStream,
    /// Up to where in the log of a bus it was given everything.
    pub(super) since: Option<Mark>,
}

#[wasm_bindgen]
impl Stream {
    /// Whether nothing at all is honored: no bus is needed.
    #[wasm_bindgen(getter, js_name = honorsNothing)]
    pub fn honors_nothing(&self) -> bool {
        self.stream.honored().is_empty()
    }
}

impl From<ServerStream> for Stream {
    fn from(stream: ServerStream) -> Self {
        Self {
            stream,
            since: None,
        }
    }
}

impl From<isolate::Parted> for Stream {
    fn from(isolate::Parted { stream, since, .. }: isolate::Parted) -> Self {
        Self { stream, since }
    }
}
