//! The order of the checks of a request.

use std::sync::Arc;

use mcp_listen::{
    capabilities::Capabilities,
    clock::Millis,
    error::Reason,
    exchange::{Exchange, LegacyMode, Service, SessionRules, Step},
    filter::SubscriptionFilter,
    http::{Policy, Response},
    limits::Limits,
    scope::{Name, Scope},
    session::Ask,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::uri,
    host_step::{SESSION_LIMITS, carry_out},
};

const URL: &str = "https://mcp.example/mcp";
const MODERN: &str = "host: mcp.example\ncontent-type: application/json\n\
    accept: application/json, text/event-stream\n\
    mcp-protocol-version: 2026-07-28\nmcp-method: subscriptions/listen";
/// The header fields of a client that names the method only in the body.
const PLAIN: &str = "host: mcp.example\ncontent-type: application/json\n\
    accept: application/json, text/event-stream\n\
    mcp-protocol-version: 2026-07-28";
const EARLIER: &str = "host: mcp.example\ncontent-type: application/json\n\
    accept: application/json, text/event-stream";
const SESSION: &str = "host: mcp.example\ncontent-type: application/json\n\
    accept: application/json, text/event-stream\n\
    mcp-session-id: s";
const LISTEN: &str = r#"{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#;
const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const SUBSCRIBE: &str =
    r#"{"jsonrpc":"2.0","id":10,"method":"resources/subscribe","params":{"uri":"a"}}"#;

const WITH_SESSIONS: LegacyMode = LegacyMode::Sessions(SessionRules {
    limits: SESSION_LIMITS,
    authorizes: false,
});

fn service(earlier: LegacyMode) -> Service {
    Service::new(Policy::default(), Limits::default(), earlier)
}

fn post(service: Service, headers: &str) -> Exchange {
    Exchange::new(Arc::new(service), "POST", URL, headers, true)
}

fn is_body(step: &Step) -> bool {
    matches!(step, Step::Body { max_bytes: 65_536 })
}

fn response(step: Step) -> Response {
    let Step::Respond(response) = step else {
        panic!("{step:?}");
    };
    response
}

/// Returns the steps until the request is decided, and the last step.
fn steps(exchange: &mut Exchange, body: &str) -> (String, Step) {
    let mut asked = String::new();
    for _ in 0..8 {
        let step = exchange.poll();
        assert_eq!(exchange.poll(), step, "the same until it is done");
        if !carry_out(exchange, &step, body.as_bytes(), None) {
            return (asked, step);
        }
        asked.push(match step {
            Step::Body { .. } => 'b',
            Step::Caller => 'c',
            _ => 's',
        });
    }
    panic!("asks without end: {asked}");
}

#[test]
fn a_listen_by_header_authenticates_before_the_body_is_read() {
    let mut exchange = post(service(LegacyMode::Stateless), MODERN);
    let (asked, step) = steps(&mut exchange, LISTEN);
    assert_eq!(asked, "cb");
    let Step::Authorize { requested } = step else {
        panic!("{step:?}");
    };
    assert!(requested.tools_list_changed);
    let refused = exchange.refuse(Reason::Unavailable);
    assert!(refused.body.unwrap().contains("\"id\":7"));
    assert_eq!((refused.status, refused.retry_after), (503, Some(2)));
}

#[test]
fn a_caller_is_authorized_and_admitted_before_the_server_is_discovered() {
    let listen = LISTEN.replace(
        r#"{"toolsListChanged":true}"#,
        r#"{"toolsListChanged":true,"resourceSubscriptions":["note://a"]}"#,
    );
    let mut exchange = post(service(LegacyMode::Stateless), MODERN);
    steps(&mut exchange, &listen);
    exchange.handle_admitted();
    exchange.handle_discovered(Capabilities::ALL.into());
    assert!(matches!(exchange.poll(), Step::Authorize { .. }));
    exchange.handle_permit(Some(SubscriptionFilter {
        resource_subscriptions: vec![uri("note://a"), uri("note://b")],
        ..SubscriptionFilter::default()
    }));
    assert_eq!(exchange.poll(), Step::Admit);
    let scope = Scope {
        groups: vec![Name::new("acme").unwrap()],
        ..Scope::default()
    };
    assert_eq!(
        exchange.names(scope),
        "note://a".len() + 64 + "acme".len() + 64
    );
    exchange.handle_discovered(Capabilities::ALL.into());
    assert_eq!(exchange.poll(), Step::Admit);
    exchange.handle_admitted();
    assert_eq!(exchange.poll(), Step::Discover);
    assert!(exchange.open(Millis(0), Millis(0)).is_none());
    exchange.handle_permit(None);
    exchange.handle_discovered(Capabilities::ALL.into());
    assert_eq!(exchange.poll(), Step::Open);
    let (stream, start) = exchange.open(Millis(0), Millis(0)).unwrap();
    let honored = SubscriptionFilter {
        resource_subscriptions: vec![uri("note://a")],
        ..SubscriptionFilter::default()
    };
    assert_eq!(*stream.honored(), honored);
    assert!(start.is_none());
}

#[test]
fn a_stream_that_the_server_reads_needs_only_room() {
    let service = Arc::new(service(LegacyMode::Stateless));
    let mut exchange = Exchange::of_resource(service, uri("note://a"));
    assert_eq!(exchange.poll(), Step::Admit);
    assert_eq!(exchange.names(Scope::default()), "note://a".len() + 64);
    exchange.handle_admitted();
    assert_eq!(exchange.poll(), Step::Open);
    let (stream, _) = exchange.open(Millis(0), Millis(0)).unwrap();
    assert_eq!(stream.honored().resource_subscriptions, [uri("note://a")]);
}

#[test]
fn a_listen_by_body_authenticates_before_it_is_validated() {
    let mut exchange = post(service(LegacyMode::Stateless), PLAIN);
    let (asked, step) = steps(&mut exchange, &LISTEN.replace("true", "1"));
    assert_eq!(asked, "bc");
    assert_eq!(response(step).status, 400);
}

#[test]
fn a_denied_caller_learns_nothing_about_its_request() {
    for headers in [MODERN, PLAIN, SESSION] {
        let mut exchange = post(service(WITH_SESSIONS), headers);
        let mut step = exchange.poll();
        while step != Step::Caller {
            let is_done = carry_out(&mut exchange, &step, LISTEN.as_bytes(), None);
            assert!(is_done, "{step:?}");
            step = exchange.poll();
        }
        let denied = exchange.refuse(Reason::Unauthorized);
        assert_eq!(denied.status, 401);
        assert!(!denied.body.unwrap().contains("\"id\":7"), "{headers}");
    }
}

#[test]
fn a_refusal_by_http_alone_needs_no_caller() {
    let headers = MODERN.replace("text/event-stream", "text/html");
    let refused = response(post(service(WITH_SESSIONS), &headers).poll());
    assert_eq!((refused.status, refused.is_unread), (406, true));
    let put = Exchange::new(
        Arc::new(service(LegacyMode::Stateless)),
        "PUT",
        URL,
        MODERN,
        true,
    )
    .poll();
    assert_eq!(
        (response(put.clone()).status, response(put).body),
        (405, None)
    );
}

#[test]
fn a_request_whose_body_was_read_is_passed_on() {
    let service = Arc::new(service(LegacyMode::Stateless));
    let mut exchange = Exchange::new(service, "POST", URL, MODERN, false);
    assert_eq!(exchange.poll(), Step::Pass { withholds: false });
}

#[test]
fn earlier_revisions_are_forwarded_kept_or_refused() {
    for body in [PING, INITIALIZE, SUBSCRIBE] {
        let (asked, step) = steps(&mut post(service(LegacyMode::Stateless), EARLIER), body);
        assert_eq!(
            (asked.as_str(), step),
            ("b", Step::Pass { withholds: false })
        );
        let (asked, step) = steps(&mut post(service(LegacyMode::Reject), EARLIER), body);
        assert_eq!((asked.as_str(), response(step).status), ("b", 400));
    }
    let (asked, step) = steps(&mut post(service(WITH_SESSIONS), EARLIER), PING);
    assert_eq!(
        (asked.as_str(), step),
        ("b", Step::Pass { withholds: false })
    );
    let (asked, step) = steps(&mut post(service(WITH_SESSIONS), EARLIER), INITIALIZE);
    assert_eq!(step, Step::Initialize);
    assert_eq!(asked, "bc");
}

#[test]
fn the_session_is_checked_before_the_caller_and_the_caller_before_the_request() {
    let (asked, step) = steps(&mut post(service(WITH_SESSIONS), SESSION), PING);
    assert!(matches!(step, Step::Ask(question) if question.ask == Ask::Use));
    assert_eq!(asked, "bsc");
    let (asked, step) = steps(&mut post(service(WITH_SESSIONS), SESSION), "[]");
    assert_eq!((asked.as_str(), response(step).status), ("bsc", 400));
}

#[test]
fn an_impossible_session_id_is_refused_with_the_request_id() {
    let mut exchange = post(service(WITH_SESSIONS), SESSION);
    assert!(is_body(&exchange.poll()));
    exchange.handle_body(PING.into());
    assert_eq!(exchange.poll(), Step::Session);
    let refused = exchange.refuse(Reason::SessionNotFound);
    assert!(refused.body.unwrap().contains("\"id\":8"));
}

#[test]
fn without_streams_listens_are_refused_and_capabilities_withheld() {
    let off = || post(service(LegacyMode::Stateless).without_streams(), MODERN);
    let (asked, step) = steps(&mut off(), LISTEN);
    assert_eq!((asked.as_str(), response(step).status), ("b", 404));
    let earlier = || post(service(LegacyMode::Stateless).without_streams(), EARLIER);
    let (_, step) = steps(&mut earlier(), SUBSCRIBE);
    let in_band = response(step);
    assert_eq!((in_band.status, in_band.retry_after), (200, None));
    assert!(in_band.body.unwrap().contains("\"id\":10"));
    let (_, step) = steps(&mut earlier(), INITIALIZE);
    assert_eq!(step, Step::Pass { withholds: true });
    let (_, step) = steps(&mut earlier(), PING);
    assert_eq!(step, Step::Pass { withholds: false });
}

#[test]
fn a_preflight_lists_what_a_browser_may_send() {
    let policy = Policy::new("https://app.example", None).unwrap();
    let service = Service::new(policy, Limits::default(), LegacyMode::Stateless);
    let headers =
        "host: mcp.example\norigin: https://app.example\naccess-control-request-method: POST";
    let mut exchange = Exchange::new(Arc::new(service), "OPTIONS", URL, headers, true);
    let reported = response(exchange.poll());
    assert_eq!(
        (reported.status, reported.body, reported.refusal),
        (204, None, None)
    );
    assert!(
        exchange
            .fields()
            .iter()
            .any(|(name, _)| *name == "access-control-allow-origin")
    );
}
