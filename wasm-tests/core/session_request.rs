//! The course of a request through a session: its questions, their order, and its response.

use std::sync::Arc;

use mcp_listen::{
    clock::Millis,
    error::{Reason, Rejection},
    exchange::{Exchange, LegacyMode, Service, SessionRules, Step},
    filter::SubscriptionFilter,
    http::{Policy, Response},
    limits, message,
    position::Cursor,
    scope::Scope,
    session::{Ask, Excess, Question, Reply},
    upstream::ResumePoint,
};
use serde_json::Value;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::uri,
    host_step::{SESSION_LIMITS, carry_out},
};

const HEADERS: &str = "host: mcp.example\ncontent-type: application/json\n\
    accept: application/json, text/event-stream\n\
    mcp-session-id: s";

/// A request of an authenticated caller in the session `s`.
fn request(method: &str, headers: &str, body: &str, authorizes: bool) -> Exchange {
    let rules = SessionRules {
        limits: SESSION_LIMITS,
        authorizes,
    };
    let service = Service::new(
        Policy::default(),
        limits::Limits::default(),
        LegacyMode::Sessions(rules),
    );
    let url = "https://mcp.example/mcp";
    let mut exchange = Exchange::new(Arc::new(service), method, url, headers, true);
    let mut step = exchange.poll();
    while carry_out(&mut exchange, &step, body.as_bytes(), Some("ann")) {
        step = exchange.poll();
    }
    exchange
}

fn post(method: &str, params: &str, authorizes: bool) -> Exchange {
    let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
    request("POST", HEADERS, &body, authorizes)
}

fn subscribe(authorizes: bool) -> Exchange {
    post("resources/subscribe", r#"{"uri":"note://a"}"#, authorizes)
}

/// Returns the current question to the session.
fn asked(exchange: &mut Exchange) -> Ask {
    let step = exchange.poll();
    let Step::Ask(Question {
        session,
        principal,
        ask,
    }) = step
    else {
        panic!("{step:?}");
    };
    assert_eq!((&*session, principal.as_deref()), ("s", Some("ann")));
    ask
}

fn response(exchange: &mut Exchange) -> Response {
    let step = exchange.poll();
    let Step::Respond(response) = step else {
        panic!("{step:?}");
    };
    response
}

/// Returns the status of a response and its JSON-RPC error.
fn reported(response: &Response) -> (u16, Option<Value>) {
    let body = response.body.as_deref();
    let error = body.and_then(|body| error_in(body).filter(|error| !error.is_null()));
    assert_eq!(response.refusal.is_some(), error.is_some());
    (response.status, error)
}

/// Returns the JSON-RPC error of a refusal.
fn error(reason: Reason) -> Option<Value> {
    error_in(&message::error(&Rejection::new(reason, None)))
}

fn error_in(message: &str) -> Option<Value> {
    let message: Value = serde_json::from_str(message).unwrap();
    message.get("error").cloned()
}

fn watch() -> Ask {
    Ask::Subscribe {
        uri: uri("note://a"),
        limits: SESSION_LIMITS,
    }
}

fn only(name: &str) -> SubscriptionFilter {
    SubscriptionFilter {
        resource_subscriptions: vec![uri(name)],
        ..SubscriptionFilter::default()
    }
}

#[test]
fn a_ping_counts_as_use_of_the_session() {
    let mut exchange = post("ping", "{}", true);
    assert_eq!(asked(&mut exchange), Ask::Use);
    exchange.handle_reply(Reply::Done);
    let response = response(&mut exchange);
    assert_eq!(reported(&response), (200, None));
    let result = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    assert_eq!(response.body.as_deref(), Some(result));
}

#[test]
fn a_refusal_of_the_session_is_returned() {
    let too_many = Reason::LimitExceeded {
        what: "Too many bytes of resource URIs",
        limit: 300,
    };
    for (reply, status, reason) in [
        (Reply::Unknown, 404, Reason::SessionNotFound),
        (Reply::NotOffered, 200, Reason::MethodNotFound),
        (Reply::Full(Excess::Bytes(300)), 200, too_many),
    ] {
        let mut exchange = subscribe(false);
        assert_eq!(asked(&mut exchange), watch());
        exchange.handle_reply(reply);
        let response = response(&mut exchange);
        assert_eq!(reported(&response), (status, error(reason)));
        assert!(response.body.unwrap().contains("\"id\":7"));
    }
    let mut exchange = post("initialize", "{}", false);
    exchange.handle_reply(Reply::Done);
    assert_eq!(response(&mut exchange).status, 400, "a second time");
}

#[test]
fn a_session_without_subscriptions_is_refused_before_its_parameters_are_checked() {
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        let mut exchange = post(method, "{}", false);
        assert_eq!(asked(&mut exchange), Ask::MaySubscribe);
        exchange.handle_reply(Reply::NotOffered);
        let not_found = (200, error(Reason::MethodNotFound));
        assert_eq!(reported(&response(&mut exchange)), not_found);
        let mut exchange = post(method, "{}", false);
        exchange.handle_reply(Reply::Done);
        let (status, error) = reported(&response(&mut exchange));
        assert_eq!(
            (status, error.unwrap()["code"].as_i64()),
            (200, Some(-32_602))
        );
    }
}

#[test]
fn a_subscribe_is_authorized_before_it_takes_effect() {
    for (permit, asks) in [
        (None, watch()),
        (Some(only("note://a")), watch()),
        (Some(only("note://b")), Ask::Unsubscribe(uri("note://a"))),
    ] {
        let mut exchange = subscribe(true);
        assert_eq!(asked(&mut exchange), Ask::MaySubscribe);
        exchange.handle_reply(Reply::Done);
        let requested = only("note://a");
        assert_eq!(exchange.poll(), Step::Authorize { requested });
        exchange.handle_permit(permit);
        assert_eq!(asked(&mut exchange), asks);
        exchange.handle_reply(Reply::Done);
        assert_eq!(reported(&response(&mut exchange)), (200, None));
    }
    let mut exchange = post("resources/unsubscribe", r#"{"uri":"note://a"}"#, true);
    assert_eq!(asked(&mut exchange), Ask::Unsubscribe(uri("note://a")));
}

/// Responses of the upstream server to `DELETE` and `notifications/initialized`.
#[test]
fn the_server_is_updated_before_the_session() {
    let upstream_id = || Step::Send {
        upstream_id: Some("b".into()),
    };
    for (status, is_over) in [(200, true), (404, true), (405, true), (500, false)] {
        let mut exchange = request("DELETE", HEADERS, "", true);
        assert_eq!(
            asked(&mut exchange),
            Ask::End {
                is_forwarded: false
            }
        );
        exchange.handle_reply(Reply::ForwardFirst("b".into()));
        assert_eq!(exchange.poll(), upstream_id());
        exchange.handle_status(status);
        if !is_over {
            assert_eq!(exchange.poll(), Step::Forward);
            continue;
        }
        assert_eq!(asked(&mut exchange), Ask::End { is_forwarded: true });
        exchange.handle_reply(Reply::Done);
        assert_eq!(reported(&response(&mut exchange)), (200, None));
    }
    for (status, then) in [
        (202, Some(Ask::Initialized { is_forwarded: true })),
        (404, Some(Ask::End { is_forwarded: true })),
        (405, None),
    ] {
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let mut exchange = request("POST", HEADERS, body, true);
        assert_eq!(
            asked(&mut exchange),
            Ask::Initialized {
                is_forwarded: false
            }
        );
        exchange.handle_reply(Reply::ForwardFirst("b".into()));
        assert_eq!(exchange.poll(), upstream_id());
        exchange.handle_status(status);
        let Some(ask) = then else {
            assert_eq!(exchange.poll(), Step::Forward);
            continue;
        };
        assert_eq!(asked(&mut exchange), ask);
        exchange.handle_reply(Reply::Done);
        if status == 404 {
            assert_eq!(exchange.poll(), Step::Forward);
        } else {
            assert_eq!(reported(&response(&mut exchange)), (202, None));
        }
    }
}

#[test]
fn the_server_is_updated_once() {
    let mut exchange = request("DELETE", HEADERS, "", true);
    exchange.handle_reply(Reply::ForwardFirst("b".into()));
    exchange.handle_status(200);
    exchange.handle_reply(Reply::ForwardFirst("b".into()));
    let unavailable = (503, error(Reason::Unavailable));
    assert_eq!(reported(&response(&mut exchange)), unavailable);
}

#[test]
fn a_404_of_the_server_ends_our_session() {
    for (upstream_id, status, ends) in [
        (Some("b"), 200, false),
        (Some("b"), 404, true),
        (None, 404, false),
    ] {
        let mut exchange = post("tools/list", "{}", true);
        assert_eq!(asked(&mut exchange), Ask::UpstreamId);
        let upstream_id: Option<Box<str>> = upstream_id.map(Into::into);
        exchange.handle_reply(Reply::UpstreamId(upstream_id.clone()));
        assert_eq!(exchange.poll(), Step::Send { upstream_id });
        exchange.handle_status(status);
        if ends {
            assert_eq!(asked(&mut exchange), Ask::End { is_forwarded: true });
            exchange.handle_reply(Reply::Unknown);
        }
        assert_eq!(exchange.poll(), Step::Forward);
    }
}

#[test]
fn a_stream_resumes_from_the_clients_event_or_the_sessions_start() {
    let capabilities = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true}}"#;
    let at = |position| {
        let (epoch, position) = ("e".into(), mcp_listen::position::Position(position));
        ResumePoint::Since(Cursor { epoch, position })
    };
    for (field, resumes, past) in [
        ("", false, at(4)),
        ("\nlast-event-id: 9-e", true, at(9)),
        ("\nlast-event-id: who knows", true, ResumePoint::Unknown),
    ] {
        let mut exchange = request("GET", &format!("{HEADERS}{field}"), "", true);
        assert_eq!(asked(&mut exchange), Ask::Open { resumes });
        exchange.handle_reply(Reply::Open {
            capabilities: capabilities.into(),
            stream: 3,
            since: "4-e".into(),
            subscriptions: vec![uri("note://a"), uri("note://b")],
        });
        let Step::Authorize { requested } = exchange.poll() else {
            panic!("no session is asked");
        };
        assert!(requested.tools_list_changed && !requested.prompts_list_changed);
        assert_eq!(requested.resource_subscriptions.len(), 2);
        exchange.handle_permit(Some(only("note://b")));
        assert_eq!(exchange.poll(), Step::Admit);
        assert_eq!(exchange.names(Scope::default()), 0, "its store counts them");
        exchange.handle_admitted();
        assert_eq!(exchange.poll(), Step::Open, "its offer is known");
        let opened = exchange.open(Millis::default(), Millis::default());
        let (stream, start) = opened.unwrap();
        let start = start.unwrap();
        assert!(stream.honored().is_empty(), "no list is permitted");
        assert_eq!(start.session.to_text(), "s 3 ann");
        assert_eq!(start.denied, [uri("note://a")]);
        assert_eq!(start.past, past);
    }
    let mut exchange = request("GET", HEADERS, "", false);
    exchange.handle_reply(Reply::Taken);
    let expected = (409, error(Reason::StreamTaken));
    assert_eq!(reported(&response(&mut exchange)), expected);
}

#[test]
fn without_a_session_only_initialize_is_served() {
    let bare = "host: mcp.example\ncontent-type: application/json\n\
        accept: application/json, text/event-stream";
    let body = |method| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#);
    let mut exchange = request("POST", bare, &body("initialize"), true);
    assert_eq!(exchange.poll(), Step::Initialize);
    let result =
        br#"{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    assert!(exchange.initialized(result, None).is_some());
    assert!(exchange.initialized(b"{}", None).is_none());
    let mut exchange = request("POST", bare, &body("resources/subscribe"), true);
    assert_eq!(response(&mut exchange).status, 400);
}
