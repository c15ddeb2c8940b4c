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
    let mut told = watch(url, filter, options);
    while let Some(event) = told.next().await {
        match event? {
            WatchEvent::Live {
                is_again: false, ..
            }
            | WatchEvent::Changed(_) => list_again(),
            // Opened again, it tells everything once, since changes may have been missed.
            WatchEvent::Live { .. } | WatchEvent::Waiting { .. } => {}
        }
    }
    Ok(())
}
