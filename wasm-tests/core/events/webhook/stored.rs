//! Rows of subscriptions, as the store of a deliverer reads them.

use std::collections::BTreeMap;

use mcp_listen::events::webhook::WebhookSubscription;

/// Returns the subscriptions in these rows.
pub(crate) fn subscriptions(
    rows: &BTreeMap<Box<str>, String>,
) -> Vec<(Box<str>, WebhookSubscription)> {
    let read = |text: &str| WebhookSubscription::from_json(text).expect("a row");
    let rows = rows.iter();
    rows.map(|(id, text)| (id.clone(), read(text))).collect()
}
