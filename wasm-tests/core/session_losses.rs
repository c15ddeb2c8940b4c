//! Failed requests of a session, and how soon its stream is reopened.

use mcp_listen::{
    client::{CloseReason, HttpAction, Loss, Refusal, SubscriptionOutput},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    sse,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::updated,
    client::tools,
    listener::{Host, TOOLS},
    subscription::{JSON, STREAM},
};

const LOST: CloseReason = CloseReason::Lost(Loss::Disconnected);

fn refused(status: u16) -> CloseReason {
    let (code, text) = (None, String::new());
    CloseReason::Refused(Refusal { status, code, text })
}

/// Returns what is reported if the request to subscribe to the resource ends like this.
fn subscribed(status: u16, body: &str) -> Vec<SubscriptionOutput> {
    let (mut host, _) = Host::session();
    let (call, _) = host.request();
    host.respond(call, status, JSON, body);
    host.reported()
}

fn honored(filter: SubscriptionFilter) -> [SubscriptionOutput; 1] {
    [SubscriptionOutput::Acknowledged(filter)]
}

fn ended(end: CloseReason) -> [SubscriptionOutput; 1] {
    [SubscriptionOutput::Ended(end)]
}

#[test]
fn a_subscribe_without_a_response_ends_the_session() {
    let (mut host, _) = Host::session();
    let (call, _) = host.request();
    host.end(call);
    assert_eq!(host.reported(), ended(LOST));
    assert!(host.listener.is_ended());
    assert_eq!(host.request().1.method, "DELETE");
}

#[test]
fn a_subscribe_whose_response_breaks_off_ends_the_session() {
    assert_eq!(subscribed(200, ""), ended(LOST));
    assert_eq!(
        subscribed(200, r#"{"jsonrpc":"2.0","id":1,"res"#),
        ended(LOST)
    );
}

#[test]
fn a_transient_refusal_of_a_subscribe_ends_the_session_with_its_status() {
    let error = r#"{"id":1,"error":{"code":-32600,"message":"later"}}"#;
    for status in [401, 408, 429, 500, 503] {
        assert_eq!(subscribed(status, error), ended(refused(status)));
    }
}

#[test]
fn a_transient_refusal_of_a_subscribe_says_when_to_try_again() {
    let (mut host, _) = Host::session();
    let (call, _) = host.request();
    host.respond(call, 503, "retry-after: 4", "");
    assert_eq!(host.listener.retry_after(), Some(Millis(4_000)));
}

#[test]
fn a_subscribe_in_a_session_that_is_gone_is_a_loss() {
    assert_eq!(subscribed(404, ""), ended(LOST));
}

#[test]
fn a_400_that_names_the_session_is_a_loss() {
    let text = "Bad Request: No valid session ID provided";
    for body in [
        text.to_owned(),
        error(-32_000, text),
        error(-32_000, "Bad Request: Server not initialized"),
        error(-32_600, "Unknown Mcp-Session-Id"),
        format!("data: {}\n\n", error(-32_001, "Session not found")),
    ] {
        assert_eq!(subscribed(400, &body), ended(LOST), "{body}");
    }
}

#[test]
fn a_400_about_the_resource_leaves_it_out() {
    for body in [
        String::new(),
        error(-32_000, "Unknown resource"),
        error(-32_002, "Resource not found in this session"),
        error(-32_602, "Invalid params in this session"),
    ] {
        assert_eq!(subscribed(400, &body), honored(tools()), "{body}");
    }
    let (mut host, _) = Host::session_of(&["note://session/1"]);
    let (call, _) = host.request();
    let body = error(-32_000, "Cannot subscribe to note://session/1");
    host.respond(call, 400, JSON, &body);
    assert_eq!(host.reported(), honored(tools()));
}

fn error(code: i32, text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"{text}"}}}}"#)
}

#[test]
fn a_resource_that_the_server_refuses_is_left_out() {
    let error = r#"{"id":1,"error":{"code":-32002,"message":"not found"}}"#;
    for status in [200, 400, 403] {
        assert_eq!(subscribed(status, error), honored(tools()));
    }
}

#[test]
fn other_subscribes_do_not_open_a_session_that_a_failed_one_has_ended() {
    let (mut host, stream) = Host::session_of(&["a", "b", "c", "d", "e"]);
    let sent = host.transfers();
    let [HttpAction::Send(call, _), .., HttpAction::Send(other, _)] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    host.end(*call);
    host.respond(*other, 200, JSON, r#"{"id":1,"result":{}}"#);
    host.end(stream);
    assert_eq!(host.reported(), ended(LOST));
    assert_eq!(host.request().1.method, "DELETE");
    assert_eq!(host.listener.poll_timeout(), None);
}

#[test]
fn a_stream_that_breaks_off_within_an_event_is_resumed_before_that_event() {
    let [first, second] = ["6-e", "7-e"].map(|id| sse::identified(id, &sse::event(TOOLS)));
    for length in 0..=second.len() {
        let (mut host, stream) = Host::open();
        host.bytes(stream, &first);
        host.bytes(stream, &second[..length]);
        host.end(stream);
        host.wait();
        let (_, request) = host.request();
        let from = request
            .headers
            .iter()
            .find(|(name, _)| *name == "Last-Event-ID");
        let last = if length < second.len() { "6-e" } else { "7-e" };
        assert_eq!(from.unwrap().1, last, "{length} of {} bytes", second.len());
    }
}

#[test]
fn an_update_without_a_readable_uri_reports_everything() {
    let long = format!(r#"{{"uri":"{}"}}"#, "x".repeat(2_049));
    for params in ["{}", r#"{"uri":7}"#, r#"{"uri":"a\u0000"}"#, &long] {
        let (mut host, stream) = Host::open();
        let update = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{params}}}"#
        );
        host.bytes(stream, &sse::event(&update));
        let changes = [ServerEvent::ToolsListChanged, updated("a")];
        assert_eq!(
            host.reported(),
            changes.map(SubscriptionOutput::Changed),
            "{params}"
        );
    }
}

#[test]
fn silence_counts_only_after_a_keep_alive() {
    let (mut host, stream) = Host::open();
    assert_eq!(host.listener.poll_timeout(), None);
    host.bytes(stream, sse::KEEP_ALIVE);
    host.wait();
    assert_eq!(host.transfers(), [HttpAction::Close(stream)]);
    host.wait();
    assert_eq!(host.request().1.method, "GET");
}

#[test]
fn a_server_that_asks_for_no_pause_gets_no_burst_of_requests() {
    let (mut host, mut stream) = Host::open();
    for _ in 0..50 {
        host.bytes(stream, b"retry: 0\n");
        host.end(stream);
        host.wait();
        stream = host.request().0;
        host.head(stream, 200, STREAM);
    }
    assert!(host.now >= 50 * 500, "{} ms", host.now);
}
