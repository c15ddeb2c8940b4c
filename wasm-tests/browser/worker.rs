use mcp_listen::{event::ServerEvent, filter::SubscriptionFilter};
use mcp_listen_browser::{ListenOptions, listen};
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::stage::{NOTE_UPDATED, Stage, next, note_updated, tools, tools_and_note, until};

#[test]
async fn a_page_hears_what_another_isolate_publishes_after_the_acknowledgment() {
    let stage = Stage::new().await;
    let filter = tools_and_note();
    let opened = listen(&stage.worker(), filter.clone(), ListenOptions::default()).await;
    let mut subscription = opened.unwrap();
    assert_eq!(subscription.honored(), &filter);
    assert_eq!(subscription.id().unwrap().raw(), "\"mcp-listen:2\"");
    assert_eq!(subscription.version(), Some("2026-07-28"));
    stage.publish(NOTE_UPDATED).await;
    assert_eq!(next(&mut subscription).await, Some(Ok(note_updated())));
    stage.publish(r#"{"kind":"prompts_list_changed"}"#).await;
    stage.publish(r#"{"kind":"tools_list_changed"}"#).await;
    let told = next(&mut subscription).await;
    assert_eq!(told, Some(Ok(ServerEvent::ToolsListChanged)));
}

#[test]
async fn what_the_server_does_not_advertise_is_not_honored() {
    let stage = Stage::new().await;
    let server = stage.worker_with(r#"{"server":{"info":{"name":"tests","version":"1"},"capabilities":{"tools":{"listChanged":true}}}}"#);
    let asked = SubscriptionFilter {
        prompts_list_changed: true,
        ..tools_and_note()
    };
    let subscription = listen(&server, asked, ListenOptions::default()).await;
    assert_eq!(subscription.unwrap().honored(), &tools());
}

#[test]
async fn a_stream_with_nothing_honored_ends_at_once() {
    let stage = Stage::new().await;
    let server = stage.worker_with(r#"{"server":{"info":{"name":"tests","version":"1"},"capabilities":{"prompts":{"listChanged":true}}}}"#);
    let opened = listen(&server, tools(), ListenOptions::default()).await;
    let mut subscription = opened.unwrap();
    assert!(subscription.honored().is_empty());
    assert_eq!(next(&mut subscription).await, None);
    assert_eq!(next(&mut subscription).await, None);
}

#[test]
async fn a_closed_subscription_ends_and_leaves_its_server() {
    let stage = Stage::new().await;
    let options = r#"{"server":{"info":{"name":"tests","version":"1"},"capabilities":{"tools":{"listChanged":true}}},"timeouts":{"writeMs":60001}}"#;
    let server = stage.worker_with(options);
    let opened = listen(&server, tools(), ListenOptions::default()).await;
    let mut subscription = opened.unwrap();
    assert_eq!(stage.streams_with(options).await, "1");
    subscription.close();
    assert_eq!(next(&mut subscription).await, None);
    until("0", async || stage.streams_with(options).await).await;
}

#[test]
async fn a_dropped_subscription_leaves_its_server() {
    let stage = Stage::new().await;
    let options = r#"{"server":{"info":{"name":"tests","version":"1"},"capabilities":{"tools":{"listChanged":true}}},"timeouts":{"writeMs":60002}}"#;
    let server = stage.worker_with(options);
    let opened = listen(&server, tools(), ListenOptions::default()).await;
    let subscription = opened.unwrap();
    assert_eq!(stage.streams_with(options).await, "1");
    drop(subscription);
    until("0", async || stage.streams_with(options).await).await;
}
