use wasm_bindgen::prelude::*;

use mcp_listen::{capabilities::Capabilities, filter::SubscriptionFilter};

/// The filter for all lists of `capabilities`, as JSON texts.
#[wasm_bindgen(js_name = listsOf)]
pub fn lists_of(capabilities: &str) -> String {
    SubscriptionFilter::lists(Capabilities::from_json(capabilities)).to_json()
}
