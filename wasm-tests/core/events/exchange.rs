//! The order in which a request about events is judged.

use mcp_listen::events::{
    error::EventError,
    exchange::{Caller, EventExchange, EventService, EventStep, ServiceError},
};
use mcp_listen::http::Response;
use serde_json::json;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::host::{
    ask, ask_with, body, caller, declared, headers, params, refusal, refusal_in, response, result,
    service,
};

const METHODS: [&str; 5] = [
    "events/list",
    "events/poll",
    "events/stream",
    "events/subscribe",
    "events/unsubscribe",
];

#[test]
fn a_request_by_its_header_fields_names_its_caller_before_its_body_is_read() {
    let mut exchange = EventExchange::new(service(&json!({})), &headers("events/list"));
    assert_eq!(exchange.poll(), EventStep::Caller);
    exchange.handle_caller(Caller::default());
    assert_eq!(exchange.poll(), EventStep::Body { max_bytes: 65_536 });
    exchange.handle_body(body("1", "events/list", &json!({}), &json!({})));
    assert_eq!(response(&mut exchange).status, 200);
}

#[test]
fn a_request_that_only_its_body_shows_names_its_caller_before_it_is_judged() {
    let plain = headers("events/list").replace("\nmcp-method: events/list", "");
    let mut exchange = EventExchange::new(service(&json!({})), &plain);
    assert_eq!(exchange.poll(), EventStep::Body { max_bytes: 65_536 });
    exchange.handle_body(body("1", "events/nothing", &json!({}), &json!({})));
    assert_eq!(exchange.poll(), EventStep::Caller);
    let unnamed = exchange.refuse(EventError::Forbidden { reason: None });
    assert!(
        !unnamed.body.unwrap().contains("\"id\""),
        "a denied caller learns nothing"
    );
    exchange.handle_caller(Caller::default());
    let refused = refusal(&mut exchange);
    assert_eq!(
        (refused.0, refused.1),
        (400, -32_020),
        "the Mcp-Method header is missing"
    );
}

#[test]
fn what_is_not_about_events_is_passed_on() {
    let service = service(&json!({ "legacy": true }));
    for (headers, body) in [
        (
            headers("tools/call"),
            r#"{"method":"tools/call","params":{}}"#,
        ),
        (headers("tools/call"), r#"{"method":"event/list"}"#),
        (headers("tools/call"), "[]"),
        (headers("tools/call"), "{"),
        (headers("tools/call"), "1"),
        ("content-type: text/plain".to_owned(), ""),
        (format!("{}\ncontent-length: 70000", headers("x")), ""),
    ] {
        let mut exchange = EventExchange::new(service.clone(), &headers);
        exchange.handle_body(body.as_bytes().into());
        assert_eq!(exchange.poll(), EventStep::Pass, "{headers} {body}");
    }
}

#[test]
fn a_body_counts_for_each_method_that_it_names() {
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"events/list"}"#;
    let mut exchange = EventExchange::new(service(&json!({})), &headers("tools/call"));
    exchange.handle_caller(Caller::default());
    exchange.handle_body(text.as_bytes().into());
    assert_eq!(refusal(&mut exchange).1, -32_600);
}

#[test]
fn what_http_alone_refuses_needs_no_caller() {
    for (method, from, to, status) in [
        ("events/list", "application/json", "text/plain", 415),
        ("events/stream", "text/event-stream", "text/html", 406),
        (
            "events/list",
            "accept",
            "content-length: 70000\naccept",
            413,
        ),
    ] {
        let headers = headers(method).replacen(from, to, 1);
        let refused = response(&mut EventExchange::new(service(&json!({})), &headers));
        assert_eq!(
            (refused.status, refused.is_unread),
            (status, true),
            "{headers}"
        );
    }
}

#[test]
fn only_a_stream_needs_a_client_that_accepts_one() {
    let service = service(&json!({}));
    for method in METHODS {
        let headers = headers(method).replace(", text/event-stream", "");
        let mut exchange = EventExchange::new(service.clone(), &headers);
        exchange.handle_caller(caller(Some("ann")));
        exchange.handle_body(body("1", method, &params("news"), &json!({})));
        let is_refused = matches!(
            exchange.poll(),
            EventStep::Respond(Response { status: 406, .. })
        );
        assert_eq!(is_refused, method == "events/stream", "{method}");
    }
}

#[test]
fn a_malformed_request_about_events_is_refused() {
    let service = service(&json!({}));
    let modern = String::from_utf8(body("1", "events/list", &json!({}), &json!({}))).unwrap();
    for (body, status, code) in [
        ("{".to_owned(), 400, -32_700),
        ("[]".to_owned(), 400, -32_600),
        (modern.replace("\"id\":1", "\"id\":null"), 400, -32_600),
        (modern.replace("2.0", "1.0"), 400, -32_600),
        (
            modern.replace("\"id\":1", "\"id\":1,\"id\":1"),
            400,
            -32_600,
        ),
        (modern.replace("2026-07-28", "2027-01-01"), 400, -32_020),
        (modern.replace("events/list", "events/poll"), 400, -32_020),
        (modern.replace("clientCapabilities", "x"), 400, -32_602),
        (format!("{modern}{}", " ".repeat(70_000)), 413, -32_600),
    ] {
        let mut exchange = EventExchange::new(service.clone(), &headers("events/list"));
        exchange.handle_caller(Caller::default());
        exchange.handle_body(body.clone().into_bytes());
        let refused = refusal(&mut exchange);
        assert_eq!((refused.0, refused.1), (status, code), "{body:.200}");
    }
}

#[test]
fn the_name_header_of_a_request_is_not_checked() {
    let headers = format!("{}\nmcp-name: other", headers("events/poll"));
    let mut exchange = EventExchange::new(service(&json!({})), &headers);
    exchange.handle_caller(Caller::default());
    exchange.handle_body(body("1", "events/poll", &params("news"), &json!({})));
    assert!(matches!(exchange.poll(), EventStep::Page(_)));
}

#[test]
fn a_method_that_the_server_does_not_serve_is_unknown() {
    for (modes, served) in [
        (json!(["push"]), &["events/list", "events/stream"][..]),
        (json!(["poll"]), &["events/list", "events/poll"]),
        (
            json!(["webhook"]),
            &["events/list", "events/subscribe", "events/unsubscribe"],
        ),
        (json!([]), &["events/list"]),
    ] {
        let service = service(&json!({ "modes": modes }));
        for method in METHODS.into_iter().chain(["events/publish"]) {
            let step = ask(&service, method, &params("news")).poll();
            let is_unknown = matches!(&step, EventStep::Respond(response) if response.status == 404
                && refusal_in(response).1 == -32_601);
            assert_eq!(
                !is_unknown,
                served.contains(&method),
                "{modes} {method} {step:?}"
            );
        }
    }
}

#[test]
fn a_step_out_of_order_changes_nothing() {
    let mut exchange = ask(&service(&json!({})), "events/stream", &params("news"));
    let step = exchange.poll();
    exchange.handle_allowed();
    exchange.handle_denied(None);
    exchange.handle_shown(&[]);
    exchange.handle_validity(false);
    exchange.handle_match_results(&[]);
    exchange.handle_response("{}");
    assert_eq!(exchange.poll(), step);
}

#[test]
fn a_stream_opens_with_what_its_request_named() {
    let mut exchange = ask_with(
        &service(&json!({})),
        "events/stream",
        &json!({
            "name": "order.paid", "arguments": { "customer": "c" },
            "cursor": "x", "maxAgeMs": 9,
        }),
        &declared(),
    );
    exchange.handle_caller(Caller::from_json(r#"{"principal":"ann","groups":["staff"]}"#).unwrap());
    assert!(exchange.opening().is_none(), "before it is judged");
    let EventStep::Stream { name, groups } = exchange.poll() else {
        panic!("{:?}", exchange.poll());
    };
    assert_eq!((&*name, groups.len()), ("order.paid", 1));
    let opening = exchange.opening().unwrap();
    assert_eq!((opening.id.raw(), &*opening.groups[0]), ("7", "staff"));
    assert_eq!(
        (opening.cursor.as_deref(), opening.max_age.map(|age| age.0)),
        (Some("x"), Some(9))
    );
    assert_eq!(
        ask(&service(&json!({})), "events/poll", &params("news")).opening(),
        None
    );
}

#[test]
fn earlier_revisions_are_passed_on_unless_the_server_serves_them() {
    let earlier =
        "content-type: application/json\nmcp-protocol-version: 2025-11-25\nmcp-session-id: s";
    for (legacy, method, is_ours) in [
        (false, "events/list", false),
        (true, "events/list", true),
        (true, "events/subscribe", true),
        (true, "events/unsubscribe", true),
        (true, "events/poll", false),
        (true, "events/stream", false),
        (true, "events/other", false),
    ] {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params("news") });
        let mut exchange = EventExchange::new(service(&json!({ "legacy": legacy })), earlier);
        exchange.handle_caller(caller(Some("ann")));
        exchange.handle_body(body.to_string().into_bytes());
        assert_eq!(exchange.poll() != EventStep::Pass, is_ours, "{method}");
    }
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "events/list" });
    let mut exchange = EventExchange::new(service(&json!({ "legacy": true })), earlier);
    exchange.handle_caller(Caller::default());
    exchange.handle_body(body.to_string().into_bytes());
    assert_eq!(result(&mut exchange)["events"].as_array().unwrap().len(), 2);
}

#[test]
fn options_that_are_not_valid_are_refused() {
    for (text, code) in [
        ("", "invalid-options"),
        ("{}", "invalid-options"),
        (r#"{"events":{}}"#, "invalid-options"),
        (r#"{"events":{},"modes":["x"]}"#, "invalid-options"),
        (r#"{"events":{},"modes":[],"codes":"x"}"#, "invalid-options"),
        (
            r#"{"events":{},"modes":[],"errorStatus":500}"#,
            "invalid-options",
        ),
        (r#"{"events":{},"modes":[],"legacy":1}"#, "invalid-options"),
        (r#"{"events":{},"events":{},"modes":[]}"#, "invalid-options"),
        (r#"{"events":{"a":1},"modes":[]}"#, "malformed-events"),
    ] {
        assert_eq!(
            EventService::from_json(text)
                .map_err(ServiceError::code)
                .err(),
            Some(code),
            "{text}"
        );
    }
}
