use wasm_bindgen::prelude::*;

use mcp_listen::{message, probe};

use super::options::filter_of;

/// The `initialize` request that asks a server of 2025 whether it serves a caller, as JSON text.
#[wasm_bindgen(js_name = initializeRequest)]
pub fn initialize_request() -> String {
    probe::initialize_request()
}

/// The listen request that asks a server what of a filter, given as JSON text, it honors.
#[wasm_bindgen(js_name = listenRequest)]
pub fn listen_request(filter: &str) -> Result<String, JsValue> {
    filter_of(filter).map(|filter| probe::listen_request(&filter))
}

/// The header fields that go with `listenRequest()`, as lines `name: value`.
#[wasm_bindgen(js_name = listenHeaders)]
pub fn listen_headers() -> String {
    format!(
        "content-type: application/json\naccept: application/json, text/event-stream\nmcp-protocol-version: {}\nmcp-method: {}",
        message::PROTOCOL_VERSION,
        message::LISTEN
    )
}

/// The filter that the answer to `listenRequest()` acknowledges, as JSON text; undefined where there
/// is none.
#[wasm_bindgen(js_name = acknowledgedFilter)]
pub fn acknowledged_filter(body: &[u8]) -> Option<String> {
    probe::acknowledged(body).map(|filter| filter.to_json())
}

/// Whether an answer is an error "no such method or revision".
#[wasm_bindgen(js_name = isUnknownAnswer)]
pub fn is_unknown_answer(body: &[u8]) -> bool {
    probe::is_unknown(body)
}
