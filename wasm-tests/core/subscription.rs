//! One subscription over HTTP, as its client sees it.

use std::{fmt::Display, time::Duration};

use mcp_listen::{
    client::{
        CloseReason, HttpRequest, Loss, Refusal, Subscription, SubscriptionOptions,
        SubscriptionOutput,
    },
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    http::Headers,
    id::{Ids, RequestId},
    limits::Limits,
    listen::{Accepted, ListenOutcome},
    message, sse,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{any_filter, check, updated, uri},
    client::tools,
    request::classified,
};

pub(crate) const STREAM: &str = "Content-Type: text/event-stream";
pub(crate) const JSON: &str = "content-type: application/json; charset=utf-8";

pub(crate) fn own_id() -> RequestId {
    Ids::default().mint()
}

pub(crate) fn watched(uris: &[&str]) -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: uris.iter().map(|text| uri(text)).collect(),
        ..SubscriptionFilter::default()
    }
}

pub(crate) fn request_with(options: SubscriptionOptions) -> Subscription {
    Subscription::new(own_id(), watched(&["a", "b"]), options, Millis(0))
}

pub(crate) fn requested() -> Subscription {
    request_with(SubscriptionOptions::default())
}

/// Its stream is open, and nothing was sent.
pub(crate) fn begun() -> Subscription {
    let mut subscription = requested();
    subscription.handle_head(200, &Headers::new(STREAM), Millis(0));
    subscription
}

pub(crate) fn acknowledged() -> Subscription {
    let mut subscription = begun();
    let honored = watched(&["a", "b"]);
    say(&mut subscription, &ack(&honored));
    assert_eq!(
        reported(&mut subscription),
        [SubscriptionOutput::Acknowledged(honored)]
    );
    subscription
}

pub(crate) fn ack(honored: &SubscriptionFilter) -> String {
    message::acknowledged(&own_id(), honored)
}

pub(crate) fn change(event: &ServerEvent) -> String {
    message::notification(&own_id(), event)
}

pub(crate) fn say(subscription: &mut Subscription, message: &str) {
    subscription.handle_bytes(&sse::event(message), Millis(0));
}

pub(crate) fn reported(subscription: &mut Subscription) -> Vec<SubscriptionOutput> {
    std::iter::from_fn(|| subscription.poll_output()).collect()
}

pub(crate) fn lost(loss: Loss) -> SubscriptionOutput {
    SubscriptionOutput::Ended(CloseReason::Lost(loss))
}

pub(crate) fn refused(status: u16, code: Option<i32>, text: &str) -> SubscriptionOutput {
    SubscriptionOutput::Ended(CloseReason::Refused(Refusal {
        status,
        code,
        text: text.to_owned(),
    }))
}

/// Returns the outcome of a response that is not a stream.
pub(crate) fn responded(status: u16, fields: &str, body: &str) -> Vec<SubscriptionOutput> {
    let mut subscription = requested();
    subscription.handle_head(status, &Headers::new(fields), Millis(0));
    for byte in body.as_bytes().chunks(1) {
        subscription.handle_bytes(byte, Millis(0));
    }
    subscription.handle_end();
    reported(&mut subscription)
}

/// Returns header fields as a host provides them.
pub(crate) fn lines<N: Display, V: Display>(fields: &[(N, V)]) -> String {
    let lines = fields.iter();
    let lines = lines.map(|(name, value)| format!("{name}: {value}"));
    lines.collect::<Vec<_>>().join("\n")
}

pub(crate) fn accept(request: &HttpRequest) -> Accepted {
    let lines = lines(&request.headers);
    let body = request.body.as_deref().unwrap();
    let headers = Headers::new(&lines);
    let limits = Limits::default();
    match classified(request.method, &headers, body.as_bytes(), &limits) {
        Some(ListenOutcome::Accepted(accepted)) => accepted,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn the_request_has_its_headers_and_names_version_capabilities_and_client() {
    let options = SubscriptionOptions {
        client_info: Some(r#"{"name":"n","version":"1"}"#.to_owned()),
        ..SubscriptionOptions::default()
    };
    let request = Subscription::new(own_id(), tools(), options, Millis(0)).request();
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    assert_eq!(request.method, "POST");
    assert_eq!(
        request.headers,
        headers.map(|(name, value)| (name, value.to_owned()))
    );
    assert_eq!(
        request.body.unwrap(),
        r#"{"jsonrpc":"2.0","id":"mcp-listen:1","method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"n","version":"1"}},"notifications":{"toolsListChanged":true}}}"#
    );
}

#[test]
fn our_server_accepts_every_request() {
    check(any_filter(), |filter| {
        let subscription = Subscription::new(
            own_id(),
            filter.clone(),
            SubscriptionOptions::default(),
            Millis(0),
        );
        let accepted = accept(&subscription.request());
        assert_eq!((accepted.id, accepted.requested), (own_id(), filter));
    });
}

#[test]
fn a_stream_is_acknowledged_changes_and_ends() {
    let mut subscription = acknowledged();
    say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
    let changed = SubscriptionOutput::Changed(ServerEvent::ToolsListChanged);
    assert_eq!(reported(&mut subscription), [changed]);
    say(&mut subscription, &message::listen_result(&own_id(), None));
    assert_eq!(
        reported(&mut subscription),
        [SubscriptionOutput::Ended(CloseReason::Graceful)]
    );
    assert!(subscription.is_ended());
    say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
    subscription.handle_end();
    assert_eq!(reported(&mut subscription), []);
}

#[test]
fn an_end_without_a_result_is_a_loss() {
    for mut subscription in [requested(), begun(), acknowledged()] {
        subscription.handle_end();
        assert_eq!(reported(&mut subscription), [lost(Loss::Disconnected)]);
    }
    let mut subscription = acknowledged();
    let half = sse::event(&change(&ServerEvent::ToolsListChanged));
    subscription.handle_bytes(&half[..half.len() - 1], Millis(0));
    subscription.handle_end();
    assert_eq!(reported(&mut subscription), [lost(Loss::Disconnected)]);
}

#[test]
fn a_subscription_cancelled_by_the_server_is_lost() {
    let mut subscription = acknowledged();
    say(&mut subscription, &message::cancelled(&own_id()));
    assert_eq!(reported(&mut subscription), [lost(Loss::Cancelled)]);
}

#[test]
fn what_is_not_polled_collapses() {
    let mut subscription = acknowledged();
    for _ in 0..1_000 {
        say(&mut subscription, &change(&updated("b")));
        say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
        say(&mut subscription, &change(&updated("a/1")));
    }
    let pending = [
        SubscriptionOutput::Changed(updated("b")),
        SubscriptionOutput::Changed(ServerEvent::ToolsListChanged),
        SubscriptionOutput::Changed(updated("a/1")),
    ];
    assert_eq!(reported(&mut subscription), pending);
}

#[test]
fn too_many_sub_resources_become_their_resources() {
    let parts = Limits::default().uris;
    let mut subscription = acknowledged();
    for round in 0..3 {
        for part in 0..=parts {
            say(
                &mut subscription,
                &change(&updated(&format!("a/{round}/{part}"))),
            );
        }
        let reported = reported(&mut subscription);
        assert_eq!(reported.len(), parts + 2);
        let resources = [
            SubscriptionOutput::Changed(updated("a")),
            SubscriptionOutput::Changed(updated("b")),
        ];
        assert_eq!(reported[parts..], resources, "what was reported makes room");
    }
}

#[test]
fn pending_changes_are_reported_before_the_end() {
    let mut subscription = begun();
    say(&mut subscription, &ack(&tools()));
    say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
    subscription.handle_end();
    let all = [
        SubscriptionOutput::Acknowledged(tools()),
        SubscriptionOutput::Changed(ServerEvent::ToolsListChanged),
        lost(Loss::Disconnected),
    ];
    assert_eq!(reported(&mut subscription), all);
}

#[test]
fn after_a_cancel_nothing_is_reported_or_sent() {
    for mut subscription in [requested(), begun(), acknowledged()] {
        say(&mut subscription, &ack(&tools()));
        say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
        subscription.cancel();
        assert_eq!(reported(&mut subscription), []);
        say(&mut subscription, &ack(&tools()));
        say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
        subscription.handle_end();
        subscription.handle_timeout(Millis(1_000_000));
        assert_eq!(reported(&mut subscription), []);
        assert_eq!(subscription.poll_timeout(), None);
        assert!(subscription.is_ended());
    }
}

#[test]
fn an_ended_subscription_is_not_cancelled() {
    let mut graceful = acknowledged();
    say(&mut graceful, &message::listen_result(&own_id(), None));
    let mut lost = acknowledged();
    lost.handle_end();
    let mut cancelled = acknowledged();
    cancelled.cancel();
    for mut subscription in [graceful, lost, cancelled] {
        reported(&mut subscription);
        subscription.cancel();
        assert_eq!(reported(&mut subscription), []);
        assert!(subscription.is_ended());
    }
}

#[test]
fn only_the_acknowledgment_has_a_timeout() {
    let options = SubscriptionOptions {
        acknowledgment: Duration::from_secs(1),
        silence: Duration::ZERO,
        ..SubscriptionOptions::default()
    };
    let mut subscription = request_with(options.clone());
    subscription.handle_head(200, &Headers::new(STREAM), Millis(500));
    subscription.handle_bytes(sse::KEEP_ALIVE, Millis(900));
    assert_eq!(subscription.poll_timeout(), Some(Millis(1_000)));
    subscription.handle_timeout(Millis(999));
    assert_eq!(reported(&mut subscription), []);
    subscription.handle_timeout(Millis(1_000));
    assert_eq!(reported(&mut subscription), [lost(Loss::NotAcknowledged)]);
    assert!(subscription.is_ended());
    let mut subscription = request_with(options);
    subscription.handle_head(200, &Headers::new(STREAM), Millis(0));
    say(&mut subscription, &ack(&tools()));
    assert_eq!(
        subscription.poll_timeout(),
        None,
        "the open stream has none"
    );
    subscription.handle_timeout(Millis(u64::MAX));
    assert_eq!(
        reported(&mut subscription),
        [SubscriptionOutput::Acknowledged(tools())]
    );
}

#[test]
fn silence_ends_an_open_stream_and_keep_alives_postpone_it() {
    let mut subscription = acknowledged();
    assert_eq!(subscription.poll_timeout(), Some(Millis(60_000)));
    subscription.handle_bytes(sse::KEEP_ALIVE, Millis(50_000));
    subscription.handle_timeout(Millis(60_000));
    assert_eq!(reported(&mut subscription), []);
    assert_eq!(subscription.poll_timeout(), Some(Millis(110_000)));
    subscription.handle_timeout(Millis(110_000));
    assert_eq!(reported(&mut subscription), [lost(Loss::Silence)]);
}
