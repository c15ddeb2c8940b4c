use std::{
    sync::Arc,
    task::{Poll, Waker},
    time::Duration,
};

use mcp_listen::{
    event::ServerEvent,
    limits::Limits,
    listen::{Headers, Verdict, accept},
};
use tokio::time::sleep;

use super::Streams;
use crate::{behind, body::StreamBody};

#[test]
fn what_nobody_reads_collapses() {
    let (streams, body) = streaming();
    assert!(read(&body).is_some_and(|text| text.contains("acknowledged")));
    for _ in 0..1_000 {
        streams.publish(ServerEvent::ToolsListChanged);
        streams.publish(ServerEvent::PromptsListChanged);
    }
    let text = read(&body).unwrap_or_default();
    assert_eq!(text.matches("list_changed").count(), 2, "{text}");
    assert_eq!(read(&body), None);
}

#[test]
fn who_waits_is_woken_and_gets_what_was_published() {
    let (streams, body) = streaming();
    read(&body);
    assert_eq!(read(&body), None);
    streams.publish(ServerEvent::ToolsListChanged);
    assert!(read(&body).is_some_and(|text| text.contains("tools/list_changed")));
}

#[test]
fn a_closed_stream_ends_with_its_result_and_no_other_opens() {
    let (streams, body) = streaming();
    streams.close();
    assert!(
        read(&body).is_some_and(|text| text.contains("acknowledged") && text.contains("complete"))
    );
    assert!(matches!(body.next(Waker::noop()), Poll::Ready(None)));
    assert!(opened(&streams).is_none());
}

#[test]
fn who_leaves_is_forgotten() {
    let (streams, body) = streaming();
    drop(body);
    assert!(streams.lock().fanout.is_empty());
    assert!(streams.lock().outlets.is_empty());
}

#[tokio::test(start_paused = true)]
async fn silence_is_broken_by_a_sign_of_life() {
    let (streams, body) = streaming();
    tokio::spawn(Arc::clone(&streams).keep_time());
    read(&body);
    assert_eq!(read(&body), None);
    sleep(Duration::from_secs(16)).await;
    assert_eq!(read(&body).as_deref(), Some(": keep-alive\n\n"));
}

#[tokio::test(start_paused = true)]
async fn who_takes_nothing_for_a_minute_is_given_up() {
    let (streams, body) = streaming();
    tokio::spawn(Arc::clone(&streams).keep_time());
    read(&body);
    streams.publish(ServerEvent::ToolsListChanged);
    sleep(Duration::from_secs(61)).await;
    assert!(matches!(body.next(Waker::noop()), Poll::Ready(None)));
}

fn streaming() -> (Arc<Streams>, StreamBody) {
    let streams = Arc::new(Streams::default());
    let body = opened(&streams);
    (
        streams,
        body.unwrap_or_else(|| unreachable!("nobody has closed")),
    )
}

fn opened(streams: &Arc<Streams>) -> Option<StreamBody> {
    match accept("POST", &Headers::new(FIELDS), LISTEN, &Limits::default()) {
        Verdict::Accepted(accepted) => streams.open(&accepted, &behind::discovered()),
        verdict => unreachable!("{verdict:?}"),
    }
}

/// What a reader takes that has room for one write; `None` where there is nothing.
fn read(body: &StreamBody) -> Option<String> {
    match body.next(Waker::noop()) {
        Poll::Ready(Some(bytes)) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        _ => None,
    }
}

const FIELDS: &str = "content-type: application/json\naccept: text/event-stream\nmcp-method: subscriptions/listen\nmcp-protocol-version: 2026-07-28";
const LISTEN: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true,"promptsListChanged":true}}}"#;
