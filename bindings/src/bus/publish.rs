use wasm_bindgen::prelude::*;

use mcp_listen::{
    event::ServerEvent,
    publish::{self, Posted, PublishError},
};

/// What the body of a publish holds.
#[wasm_bindgen]
pub struct Published(Result<Posted, PublishError>);

#[wasm_bindgen]
impl Published {
    /// Reads a body.
    #[wasm_bindgen(constructor)]
    pub fn new(body: &[u8]) -> Self {
        Self(publish::events(body))
    }

    /// The events, each as compact JSON text; none where something is wrong.
    #[wasm_bindgen(getter)]
    pub fn events(&self) -> Vec<String> {
        let posted = self.0.iter().flat_map(|posted| &posted.events);
        posted.map(ServerEvent::to_json).collect()
    }

    /// Whether they stood in an array.
    #[wasm_bindgen(getter, js_name = isArray)]
    pub fn is_array(&self) -> bool {
        self.0.as_ref().is_ok_and(|posted| posted.is_array)
    }

    /// What is wrong: a stable name.
    #[wasm_bindgen(getter)]
    pub fn code(&self) -> Option<String> {
        self.0.as_ref().err().map(|error| error.code().to_owned())
    }

    /// The same in words.
    #[wasm_bindgen(getter)]
    pub fn problem(&self) -> Option<String> {
        self.0.as_ref().err().map(ToString::to_string)
    }

    /// Which event it is about, counted from 0.
    #[wasm_bindgen(getter)]
    pub fn place(&self) -> Option<usize> {
        self.0.as_ref().err().and_then(|error| error.place())
    }
}
