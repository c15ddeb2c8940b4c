use mcp_listen::{client::ServerHint, event::ServerEvent};
use mcp_listen_browser::{ListenOptions, WatchEvent, listen, watch};
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::stage::{NOTE_UPDATED, Stage, next, note_updated, tools, tools_and_note, until};

#[test]
async fn a_server_of_2025_has_the_same_api() {
    let stage = Stage::new().await;
    let opened = listen(
        &stage.elder("session"),
        tools_and_note(),
        ListenOptions::default(),
    )
    .await;
    let mut subscription = opened.unwrap();
    assert_eq!(subscription.version(), Some("2025-11-25"));
    assert_eq!(subscription.id(), None);
    assert_eq!(subscription.honored(), &tools_and_note());
    let requests = [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "GET",
        "resources/subscribe",
    ];
    assert_eq!(stage.requests("session").await, requests.join("\n"));
    stage.publish(r#"{"kind":"tools_list_changed"}"#).await;
    let event = next(&mut subscription).await;
    assert_eq!(event, Some(Ok(ServerEvent::ToolsListChanged)));
    stage.publish(NOTE_UPDATED).await;
    assert_eq!(next(&mut subscription).await, Some(Ok(note_updated())));
}

#[test]
async fn the_sessions_of_the_worker_are_open_to_pages() {
    let stage = Stage::new().await;
    let server = stage.worker_with(r#"{"legacy":"sessions"}"#);
    let mut subscription = listen(&server, tools_and_note(), legacy()).await.unwrap();
    stage.publish(NOTE_UPDATED).await;
    assert_eq!(next(&mut subscription).await, Some(Ok(note_updated())));
}

#[test]
async fn a_broken_stream_resumes_from_its_last_event() {
    let stage = Stage::new().await;
    let opened = listen(&stage.elder("cut"), tools_and_note(), legacy()).await;
    let mut subscription = opened.unwrap();
    stage.publish(NOTE_UPDATED).await;
    assert_eq!(next(&mut subscription).await, Some(Ok(note_updated())));
    stage.cut("cut").await;
    // The event is published while the stream is closed.
    stage.publish(r#"{"kind":"tools_list_changed"}"#).await;
    let event = next(&mut subscription).await;
    assert_eq!(event, Some(Ok(ServerEvent::ToolsListChanged)));
    assert!(stage.requests("cut").await.ends_with("\nGET again"));
    stage.publish(NOTE_UPDATED).await;
    assert_eq!(next(&mut subscription).await, Some(Ok(note_updated())));
}

#[test]
async fn a_closed_session_is_ended() {
    let stage = Stage::new().await;
    let opened = listen(&stage.elder("closed"), tools(), legacy()).await;
    let mut subscription = opened.unwrap();
    subscription.close();
    assert_eq!(next(&mut subscription).await, None);
    let requests = "initialize\nnotifications/initialized\nGET\nDELETE";
    until(requests, async || stage.requests("closed").await).await;
}

/// Repeated, because Chromium sends a request twice only now and then.
#[test]
async fn a_dropped_session_is_ended_once() {
    let stage = Stage::new().await;
    let server = stage.elder("dropped");
    let mut requests = Vec::new();
    for _ in 0..10 {
        drop(listen(&server, tools(), legacy()).await.unwrap());
        requests.extend(["initialize", "notifications/initialized", "GET", "DELETE"]);
        let wanted = requests.join("\n");
        until(&wanted, async || stage.requests("dropped").await).await;
    }
}

#[test]
async fn a_watch_receives_the_events_of_a_session() {
    let stage = Stage::new().await;
    let server = stage.elder("watched");
    let mut watch = watch(&server, tools_and_note(), ListenOptions::default());
    let live = WatchEvent::Live {
        honored: tools_and_note(),
        is_again: false,
    };
    assert_eq!(next(&mut watch).await, Some(Ok(live)));
    stage.publish(NOTE_UPDATED).await;
    let changed = WatchEvent::Changed(note_updated());
    assert_eq!(next(&mut watch).await, Some(Ok(changed)));
    let requests = stage.requests("watched").await;
    drop(watch);
    let ended = format!("{requests}\nDELETE");
    until(&ended, async || stage.requests("watched").await).await;
}

fn legacy() -> ListenOptions {
    ListenOptions {
        server_hint: Some(ServerHint::Legacy),
        ..Default::default()
    }
}
