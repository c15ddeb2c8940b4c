//! The client side, for a page, a Worker or a process that listens.

mod watch;

use wasm_bindgen::prelude::*;

use mcp_listen::{client::SubscriptionOptions, filter::SubscriptionFilter, limits::Limits};

use crate::{error::coded, number::millis};

/// Returns one event for each list and resource in a filter, as JSON texts.
#[wasm_bindgen(js_name = eventsOfFilter)]
pub fn events_of_filter(filter: &str) -> Result<Vec<String>, JsValue> {
    let events = filter_of(filter)?.subjects();
    Ok(events
        .iter()
        .map(mcp_listen::event::ServerEvent::to_public_json)
        .collect())
}

/// Returns the filter as compact JSON text, as a client requests it; throws with the `code`
/// `invalid-filter`.
#[wasm_bindgen(js_name = normalizeFilter)]
pub fn normalize_filter(filter: &str) -> Result<String, JsValue> {
    Ok(filter_of(filter)?.to_json())
}

fn filter_of(text: &str) -> Result<SubscriptionFilter, JsValue> {
    SubscriptionFilter::from_json(text, &Limits::default())
        .map_err(|error| coded("invalid-filter", &error.to_string()))
}

fn options(client_info: Option<String>, ack_ms: f64, silence_ms: f64) -> SubscriptionOptions {
    SubscriptionOptions {
        client_info,
        acknowledgment: millis(ack_ms).into(),
        silence: millis(silence_ms).into(),
        ..SubscriptionOptions::default()
    }
}
