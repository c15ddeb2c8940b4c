use std::collections::HashSet;

use mcp_listen_tower::{SubscriptionFilter, Uri};
use rmcp::model::SubscriptionFilter as Asked;

/// Converts the SDK's filter to that of the bus. Omits URIs that are not valid for the bus, because
/// they are empty or contain control characters.
pub(crate) fn filter(asked: &Asked) -> SubscriptionFilter {
    let mut seen = HashSet::new();
    let uris = asked.resource_subscriptions.iter().flatten();
    let uris = uris.filter(|uri| seen.insert(*uri));
    SubscriptionFilter {
        tools_list_changed: asked.tools_list_changed == Some(true),
        prompts_list_changed: asked.prompts_list_changed == Some(true),
        resources_list_changed: asked.resources_list_changed == Some(true),
        resource_subscriptions: uris
            .filter_map(|uri| Uri::new(uri, usize::MAX).ok())
            .collect(),
        ..SubscriptionFilter::default()
    }
}

/// Converts the filter that the bus honors to that of the SDK.
pub(crate) fn accepted(honored: &SubscriptionFilter) -> Asked {
    let uris = honored.resource_subscriptions.iter();
    let mut accepted = Asked::default();
    accepted.tools_list_changed = honored.tools_list_changed.then_some(true);
    accepted.prompts_list_changed = honored.prompts_list_changed.then_some(true);
    accepted.resources_list_changed = honored.resources_list_changed.then_some(true);
    accepted.resource_subscriptions = Some(uris.map(|uri| uri.to_string()).collect());
    accepted
}
