use wasm_bindgen::JsValue;

use mcp_listen::{
    filter::{FilterError, SubscriptionFilter},
    limits::Limits,
};

use crate::error::coded;

/// Parses JSON text of an object with any of bodyBytes, depth, idBytes, uris, uriBytes, taskIds,
/// taskIdBytes.
pub(crate) fn limits_of(limits: Option<String>) -> Result<Limits, JsValue> {
    limits.map_or_else(
        || Ok(Limits::default()),
        |text| {
            Limits::from_json(&text)
                .ok_or_else(|| coded("invalid-options", "each limit must be a whole number"))
        },
    )
}

/// Parses an authorizer's filter; its size is not limited, since it comes from the host.
pub(crate) fn filter_of(text: &str) -> Result<SubscriptionFilter, JsValue> {
    read_filter(text).map_err(|error| coded("invalid-filter", &error.to_string()))
}

/// As [`filter_of`], with an error of the core.
pub(crate) fn read_filter(text: &str) -> Result<SubscriptionFilter, FilterError> {
    let limits = Limits {
        uris: usize::MAX,
        task_ids: usize::MAX,
        ..Limits::default()
    };
    SubscriptionFilter::from_json(text, &limits)
}
