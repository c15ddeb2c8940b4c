// page.rs
use futures_util::StreamExt;
use mcp_listen::filter::SubscriptionFilter;
use mcp_listen_browser::{ListenError, ListenOptions, Token, WatchEvent, watch};

pub async fn watch_tools(
    url: &str,
    token: Token,
    mut list_again: impl FnMut(),
) -> Result<(), ListenError> {
    let filter = SubscriptionFilter {
        tools_list_changed: true,
        ..Default::default()
    };
    let options = ListenOptions {
        token: Some(token),
        ..Default::default()
    };
    let mut events = watch(url, filter, options);
    while let Some(event) = events.next().await {
        match event? {
            WatchEvent::Live {
                is_again: false, ..
            }
            | WatchEvent::Changed(_) => list_again(),
            // A reopened watch then reports everything once, because changes may be missing.
            _ => {}
        }
    }
    Ok(())
}
