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

/// Parses a filter of any size: the server has the limits.
fn filter_of(text: &str) -> Result<SubscriptionFilter, JsValue> {
    let limits = Limits {
        uris: usize::MAX,
        uri_bytes: usize::MAX,
        task_ids: usize::MAX,
        task_id_bytes: usize::MAX,
        ..Limits::default()
    };
    SubscriptionFilter::from_json(text, &limits)
        .map_err(|error| coded("invalid-filter", &error.to_string()))
}

/// Returns the options of a subscription to `filter`. All names in the filter are within the
/// limits, because the acknowledgment repeats them: their number and their bytes are less than
/// those of the filter.
fn options(
    filter: &SubscriptionFilter,
    client_info: Option<String>,
    ack_ms: f64,
    silence_ms: f64,
) -> SubscriptionOptions {
    let (limits, bytes) = (Limits::default(), filter.to_json().len());
    SubscriptionOptions {
        client_info,
        acknowledgment: millis(ack_ms).into(),
        silence: millis(silence_ms).into(),
        limits: Limits {
            uris: limits.uris.max(bytes),
            uri_bytes: limits.uri_bytes.max(bytes),
            task_ids: limits.task_ids.max(bytes),
            task_id_bytes: limits.task_id_bytes.max(bytes),
            ..limits
        },
        ..SubscriptionOptions::default()
    }
}
