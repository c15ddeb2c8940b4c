use std::{future::poll_fn, pin::pin, task::Poll};

use mcp_listen::{
    client::{Loss, ServerHint},
    event::ServerEvent,
};
use mcp_listen_browser::{ListenError, ListenOptions, listen};
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::stage::{ACKNOWLEDGED, CHANGED, RESULT, Stage, next, patience, tools, until};

#[test]
async fn a_graceful_end_delivers_pending_events_and_ends_the_stream() {
    let stage = Stage::new().await;
    let part = format!(r#"{{"steps":[{ACKNOWLEDGED},{CHANGED},{RESULT}],"held":true}}"#);
    let server = stage.player("graceful", &part);
    let opened = listen(&server, tools(), ListenOptions::default()).await;
    let mut subscription = opened.unwrap();
    let event = next(&mut subscription).await;
    assert_eq!(event, Some(Ok(ServerEvent::ToolsListChanged)));
    assert_eq!(next(&mut subscription).await, None);
    until("0", async || stage.held("graceful").await).await;
}

#[test]
async fn a_stream_that_the_worker_rotates_yields_an_error_and_ends() {
    let stage = Stage::new().await;
    let server = stage.worker_with(r#"{"maxConnectionAgeMs":3000}"#);
    let opened = listen(&server, tools(), ListenOptions::default()).await;
    let mut subscription = opened.unwrap();
    let lost = ListenError::Lost(Loss::Disconnected);
    assert_eq!(lost.code(), "disconnected");
    assert_eq!(next(&mut subscription).await, Some(Err(lost)));
    assert_eq!(next(&mut subscription).await, None);
}

#[test]
async fn without_a_server_there_is_no_subscription() {
    let opened = listen("http://127.0.0.1:9/mcp", tools(), ListenOptions::default()).await;
    assert_eq!(opened.unwrap_err(), ListenError::Lost(Loss::Disconnected));
}

#[test]
async fn a_dropped_opening_cancels_the_request() {
    let stage = Stage::new().await;
    let server = stage.player("opening", r#"{"held":true}"#);
    {
        let at_once = ListenOptions {
            server_hint: Some(ServerHint::Modern),
            ..patience(0, 0)
        };
        let mut opening = pin!(listen(&server, tools(), at_once));
        poll_fn(|context| {
            assert!(opening.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        until("1", async || stage.held("opening").await).await;
    }
    until("0", async || stage.held("opening").await).await;
}
