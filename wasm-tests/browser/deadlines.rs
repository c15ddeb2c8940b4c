use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Wake},
};

use futures_core::Stream;
use mcp_listen::{client::Loss, event::ServerEvent};
use mcp_listen_browser::{ListenError, listen};
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::stage::{ACKNOWLEDGED, CHANGED, Stage, next, patience, sleep, tools, until};

#[test]
async fn a_subscription_without_an_acknowledgment_in_time_is_lost() {
    let stage = Stage::new().await;
    let server = stage.player("unacknowledged", r#"{"held":true}"#);
    let opened = listen(&server, tools(), patience(300, 0)).await;
    let error = opened.unwrap_err();
    assert_eq!(error, ListenError::Lost(Loss::NotAcknowledged));
    assert_eq!(error.code(), "not-acknowledged");
    until("0", async || stage.held("unacknowledged").await).await;
}

#[test]
async fn a_stream_that_is_silent_for_too_long_is_lost() {
    let stage = Stage::new().await;
    let part = format!(r#"{{"steps":[{ACKNOWLEDGED}],"held":true}}"#);
    let server = stage.player("silent", &part);
    let mut subscription = listen(&server, tools(), patience(0, 300)).await.unwrap();
    let lost = ListenError::Lost(Loss::Silence);
    assert_eq!(next(&mut subscription).await, Some(Err(lost)));
    assert_eq!(next(&mut subscription).await, None);
    until("0", async || stage.held("silent").await).await;
}

#[test]
async fn keep_alives_move_the_deadline() {
    let stage = Stage::new().await;
    // Altogether they last longer than the silence, and a stall of some seconds is shorter than it.
    let alive = r#"":\n\n",500,"#.repeat(12);
    let part = format!(r#"{{"steps":[{ACKNOWLEDGED},{alive}{CHANGED}],"held":true}}"#);
    let server = stage.player("alive", &part);
    let mut subscription = listen(&server, tools(), patience(0, 5_000)).await.unwrap();
    let event = next(&mut subscription).await;
    assert_eq!(event, Some(Ok(ServerEvent::ToolsListChanged)));
}

#[test]
async fn an_event_that_arrived_between_polls_counts_against_silence() {
    let stage = Stage::new().await;
    let part = format!(r#"{{"steps":[{ACKNOWLEDGED},100,{CHANGED}],"held":true}}"#);
    let server = stage.player("unpolled", &part);
    let mut subscription = listen(&server, tools(), patience(0, 4_000)).await.unwrap();
    sleep(4_500).await;
    let event = next(&mut subscription).await;
    assert_eq!(event, Some(Ok(ServerEvent::ToolsListChanged)));
}

#[test]
async fn the_timer_of_a_dropped_subscription_keeps_nothing() {
    let stage = Stage::new().await;
    let part = format!(r#"{{"steps":[{ACKNOWLEDGED}],"held":true}}"#);
    let server = stage.player("dropped", &part);
    let subscription = listen(&server, tools(), patience(0, 600_000)).await;
    let task = Arc::new(Task);
    {
        let mut subscription = pin!(subscription.unwrap());
        let waker = Arc::clone(&task).into();
        let polled = subscription
            .as_mut()
            .poll_next(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    let wakers = async || (Arc::strong_count(&task) - 1).to_string();
    until("0", wakers).await;
}

/// Has as many references as there are wakers.
struct Task;

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}
