use std::collections::HashSet;

use mcp_listen_tower::{Limits, SubscriptionFilter, Uri};
use rmcp::model::SubscriptionFilter as SdkFilter;

/// Converts the SDK's filter to that of the bus. Omits URIs that are empty or contain control
/// characters, which the bus does not accept, and those beyond the default [`Limits`].
pub(crate) fn filter(requested: &SdkFilter) -> SubscriptionFilter {
    let limits = Limits::default();
    let mut seen = HashSet::new();
    let uris = requested.resource_subscriptions.iter().flatten();
    let uris = uris.filter(|uri| seen.insert(*uri));
    SubscriptionFilter {
        tools_list_changed: requested.tools_list_changed == Some(true),
        prompts_list_changed: requested.prompts_list_changed == Some(true),
        resources_list_changed: requested.resources_list_changed == Some(true),
        resource_subscriptions: uris
            .filter_map(|uri| Uri::new(uri, limits.uri_bytes).ok())
            .take(limits.uris)
            .collect(),
        ..SubscriptionFilter::default()
    }
}

/// Converts the filter that the bus honors to that of the SDK.
pub(crate) fn accepted(honored: &SubscriptionFilter) -> SdkFilter {
    let uris = honored.resource_subscriptions.iter();
    let mut accepted = SdkFilter::default();
    accepted.tools_list_changed = honored.tools_list_changed.then_some(true);
    accepted.prompts_list_changed = honored.prompts_list_changed.then_some(true);
    accepted.resources_list_changed = honored.resources_list_changed.then_some(true);
    accepted.resource_subscriptions = Some(uris.map(|uri| uri.to_string()).collect());
    accepted
}
