// page_once.rs
use futures_util::StreamExt;
use mcp_listen::{event::ServerEvent, filter::SubscriptionFilter};
use mcp_listen_browser::{ListenError, ListenOptions, listen};

pub async fn first_change(url: &str) -> Result<Option<ServerEvent>, ListenError> {
    let filter = SubscriptionFilter {
        tools_list_changed: true,
        ..Default::default()
    };
    let mut changes = listen(url, filter, ListenOptions::default()).await?;
    changes.next().await.transpose()
}
