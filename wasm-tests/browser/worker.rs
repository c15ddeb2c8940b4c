use mcp_listen::{event::ServerEvent, filter::SubscriptionFilter};
use mcp_listen_browser::{ListenOptions, listen};
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::stage::{NOTE_UPDATED, Stage, next, note_updated, tools, tools_and_note, until};

#[test]
async fn a_page_receives_what_another_isolate_publishes() {
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
    let event = next(&mut subscription).await;
    assert_eq!(event, Some(Ok(ServerEvent::ToolsListChanged)));
}

#[test]
async fn only_what_the_server_advertises_is_honored() {
    let stage = Stage::new().await;
    let server = stage.worker_with(&advertising("tools", ""));
    let requested = SubscriptionFilter {
        prompts_list_changed: true,
        ..tools_and_note()
    };
    let subscription = listen(&server, requested, ListenOptions::default()).await;
    assert_eq!(subscription.unwrap().honored(), &tools());
}

#[test]
async fn a_stream_with_nothing_honored_ends_at_once() {
    let stage = Stage::new().await;
    let server = stage.worker_with(&advertising("prompts", ""));
    let opened = listen(&server, tools(), ListenOptions::default()).await;
    let mut subscription = opened.unwrap();
    assert!(subscription.honored().is_empty());
    assert_eq!(next(&mut subscription).await, None);
    assert_eq!(next(&mut subscription).await, None);
}

#[test]
async fn a_closed_subscription_ends_and_leaves_its_server() {
    let stage = Stage::new().await;
    let options = &advertising("tools", r#","timeouts":{"writeMs":60001}"#);
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
    let options = &advertising("tools", r#","timeouts":{"writeMs":60002}"#);
    let server = stage.worker_with(options);
    let opened = listen(&server, tools(), ListenOptions::default()).await;
    let subscription = opened.unwrap();
    assert_eq!(stage.streams_with(options).await, "1");
    drop(subscription);
    until("0", async || stage.streams_with(options).await).await;
}

/// Options of a server that advertises changes of one list, followed by other members.
fn advertising(list: &str, members: &str) -> String {
    let capabilities = format!(r#"{{"{list}":{{"listChanged":true}}}}"#);
    let server =
        format!(r#"{{"info":{{"name":"tests","version":"1"}},"capabilities":{capabilities}}}"#);
    format!(r#"{{"server":{server}{members}}}"#)
}
