//! A watch of a server that keeps sessions.

use std::collections::VecDeque;

use mcp_listen::{
    client::{
        CloseReason, HttpAction, HttpRequest, Loss, RequestHandle, ServerHint, SubscriptionOptions,
        Watch, WatchOutput, WatchState,
    },
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    http::Headers,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{any::uri, client::tools, subscription::STREAM};

/// A watch and its clock.
struct Host {
    watch: Watch,
    now: Millis,
}

impl Host {
    fn new() -> Self {
        Self::of(tools())
    }

    fn of(requested: SubscriptionFilter) -> Self {
        let options = SubscriptionOptions::default();
        Self {
            watch: Watch::new(requested, options, ServerHint::Legacy, 7, Millis(0)),
            now: Millis(0),
        }
    }

    /// Returns the only request to send.
    fn request(&mut self) -> (RequestHandle, HttpRequest) {
        let sent = self.requests();
        assert_eq!(sent.len(), 1, "{sent:?}");
        sent[0].clone()
    }

    /// Returns the requests to send.
    fn requests(&mut self) -> Vec<(RequestHandle, HttpRequest)> {
        let actions = std::iter::from_fn(|| self.watch.poll_action());
        actions
            .filter_map(|action| match action {
                HttpAction::Send(call, request) => Some((call, request)),
                _ => None,
            })
            .collect()
    }

    fn head(&mut self, call: RequestHandle, status: u16, fields: &str) {
        let headers = Headers::new(fields);
        self.watch.handle_head(call, status, &headers, self.now);
    }

    fn wait(&mut self) {
        self.now = self.watch.poll_timeout().unwrap();
        self.watch.handle_timeout(self.now);
    }

    fn reported(&mut self) -> Vec<WatchOutput> {
        std::iter::from_fn(|| self.watch.poll_output(self.now)).collect()
    }

    /// Responds to a `resources/subscribe` with an empty result.
    fn accept(&mut self, call: RequestHandle) {
        self.head(call, 200, "content-type: application/json");
        self.watch
            .handle_bytes(call, br#"{"jsonrpc":"2.0","id":2,"result":{}}"#, self.now);
        self.watch.handle_end(call, self.now);
    }

    /// Begins a session up to its open stream, and returns the number of that request.
    fn session(&mut self) -> RequestHandle {
        let (call, request) = self.request();
        assert!(request.body.unwrap().contains("initialize"));
        self.head(
            call,
            200,
            "content-type: application/json\nmcp-session-id: s",
        );
        self.watch.handle_bytes(call, INITIALIZED, self.now);
        self.watch.handle_end(call, self.now);
        let (call, _) = self.request();
        self.head(call, 202, "");
        let (stream, _) = self.request();
        self.head(stream, 200, STREAM);
        stream
    }
}

#[test]
fn a_new_session_after_an_ended_one_reports_everything_once() {
    let mut host = Host::new();
    let stream = host.session();
    assert_eq!(host.reported(), [live(tools(), false)]);
    host.watch.handle_end(stream, host.now);
    host.wait();
    let (again, _) = host.request();
    host.head(again, 404, "");
    let reported = host.reported();
    let [WatchOutput::Waiting { end, until }] = reported.as_slice() else {
        panic!("{reported:?}");
    };
    assert_eq!(*end, CloseReason::Lost(Loss::Disconnected));
    assert_eq!(host.watch.poll_timeout(), Some(*until));
    assert!(host.watch.is_ended());
    assert_eq!(host.request().1.method, "DELETE");
    host.wait();
    assert!(!host.watch.is_ended());
    assert!(host.session() > again, "no number is given twice");
    let all = WatchOutput::Changed(ServerEvent::ToolsListChanged);
    assert_eq!(host.reported(), [live(tools(), true), all]);
}

/// A watch whose session has lost its stream, and the request that opens it again.
fn resuming() -> (Host, u32) {
    let mut host = Host::new();
    let stream = host.session();
    host.reported();
    host.watch.handle_end(stream, host.now);
    host.wait();
    let (again, _) = host.request();
    (host, again)
}

#[test]
fn a_pending_session_end_is_still_sent() {
    let (mut host, again) = resuming();
    host.head(again, 404, "");
    host.reported();
    host.watch.cancel();
    assert_eq!(host.request().1.method, "DELETE");
    host.watch.cancel();
    assert_eq!(host.watch.poll_action(), None);
}

#[test]
fn a_redirect_of_the_end_of_the_previous_session_does_not_stop_the_watch() {
    let (mut host, again) = resuming();
    host.head(again, 404, "");
    host.reported();
    let (end, request) = host.request();
    assert_eq!(request.method, "DELETE");
    host.wait();
    host.head(end, 302, "location: https://elsewhere.example");
    assert_eq!(host.reported(), []);
    host.session();
    assert_eq!(host.reported().first(), Some(&live(tools(), true)));
}

#[test]
fn a_redirect_in_the_current_session_still_stops_the_watch() {
    let (mut host, again) = resuming();
    host.head(again, 302, "");
    let lost = CloseReason::Lost(Loss::Redirected);
    assert_eq!(host.reported(), [WatchOutput::Stopped(lost)]);
}

#[test]
fn a_watch_of_a_resource_waits_if_its_subscribe_fails() {
    let requested = SubscriptionFilter {
        resource_subscriptions: vec![uri("a")],
        ..SubscriptionFilter::default()
    };
    let mut host = Host::of(requested);
    host.session();
    let (call, _) = host.request();
    host.watch.handle_end(call, host.now);
    let reported = host.reported();
    let [WatchOutput::Waiting { end, .. }] = reported.as_slice() else {
        panic!("{reported:?}");
    };
    assert_eq!(*end, CloseReason::Lost(Loss::Disconnected));
    assert_eq!(host.watch.state(), WatchState::Waiting);
}

#[test]
fn many_resources_may_take_longer_than_one_acknowledgment() {
    let requested = SubscriptionFilter {
        resource_subscriptions: (0..12).map(|number| uri(&number.to_string())).collect(),
        ..SubscriptionFilter::default()
    };
    let mut host = Host::of(requested.clone());
    host.session();
    let mut waiting: VecDeque<_> = host.requests().into();
    assert_eq!(waiting.len(), 4);
    while let Some((call, _)) = waiting.pop_front() {
        assert_eq!(host.reported(), []);
        host.now = host.now + Millis(8_000);
        assert!(host.watch.poll_timeout().unwrap() > host.now);
        host.accept(call);
        waiting.extend(host.requests());
    }
    assert_eq!(host.now, Millis(96_000));
    assert_eq!(host.reported(), [live(requested, false)]);
}

#[test]
fn a_session_whose_resources_get_no_response_is_given_up() {
    let requested = SubscriptionFilter {
        resource_subscriptions: vec![uri("a"), uri("b")],
        ..SubscriptionFilter::default()
    };
    let mut host = Host::of(requested);
    host.session();
    let sent = host.requests();
    host.now = Millis(20_000);
    host.accept(sent[0].0);
    host.wait();
    assert_eq!(host.now, Millis(50_000));
    let reported = host.reported();
    let [WatchOutput::Waiting { end, .. }] = reported.as_slice() else {
        panic!("{reported:?}");
    };
    assert_eq!(*end, CloseReason::Lost(Loss::NotAcknowledged));
}

fn live(honored: SubscriptionFilter, is_again: bool) -> WatchOutput {
    WatchOutput::Live { honored, is_again }
}

const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}}}}"#;
