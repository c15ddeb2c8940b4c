//! The order in which a request about events is judged.

use std::sync::Arc;

use mcp_listen::events::{
    catalogue::Mode,
    error::{EventError, Missing},
    exchange::{Answer, Caller, EventExchange, EventService, ServiceError, Step},
};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::host::{
    answer, ask, ask_with, body, caller, declared, headers, name, refusal, refusal_in, result,
    service,
};

const METHODS: [&str; 5] = [
    "events/list",
    "events/poll",
    "events/stream",
    "events/subscribe",
    "events/unsubscribe",
];

/// Valid parameters for each method.
fn params(event: &str) -> Value {
    json!({ "name": event, "delivery": { "url": "https://a.example", "secret": "s" } })
}

fn authorizing(options: &Value) -> Arc<EventService> {
    let mut options = options.clone();
    options["authorizes"] = json!(true);
    service(&options)
}

/// What a caller learns that is denied, where the list shows these types.
fn denied(method: &str, shown: &[&str], reason: Option<&str>) -> (u16, i64, Value) {
    let service = authorizing(
        &json!({ "events": { "push": { "delivery": ["push"] }, "poll": { "delivery": ["poll"] }, "hook": { "delivery": ["webhook"] } } }),
    );
    let mut exchange = ask(&service, method, &params("push"));
    assert!(matches!(exchange.poll(), Step::Authorize { .. }));
    exchange.handle_denied(reason);
    let asked = Step::AuthorizeList {
        names: vec![name("push")],
    };
    assert_eq!(exchange.poll(), asked);
    let shown: Vec<_> = shown.iter().map(|text| name(text)).collect();
    exchange.handle_shown(&shown);
    refusal(&mut exchange)
}

#[test]
fn a_request_by_its_header_fields_names_its_caller_before_its_body_is_read() {
    let mut exchange = EventExchange::new(service(&json!({})), &headers("events/list"));
    assert_eq!(exchange.poll(), Step::Caller);
    exchange.handle_caller(Caller::default());
    assert_eq!(exchange.poll(), Step::Body { most: 65_536 });
    exchange.handle_body(body("1", "events/list", &json!({}), &json!({})));
    assert_eq!(answer(&mut exchange).status, 200);
}

#[test]
fn a_request_that_only_its_body_shows_names_its_caller_before_it_is_judged() {
    let plain = headers("events/list").replace("\nmcp-method: events/list", "");
    let mut exchange = EventExchange::new(service(&json!({})), &plain);
    assert_eq!(exchange.poll(), Step::Body { most: 65_536 });
    exchange.handle_body(body("1", "events/nothing", &json!({}), &json!({})));
    assert_eq!(exchange.poll(), Step::Caller);
    let unnamed = exchange.refuse(EventError::Forbidden { reason: None });
    assert!(
        !unnamed.body.contains("\"id\""),
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
        assert_eq!(exchange.poll(), Step::Pass, "{headers} {body}");
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
fn what_http_alone_refuses_asks_nobody() {
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
        let refused = answer(&mut EventExchange::new(service(&json!({})), &headers));
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
        let is_refused = matches!(exchange.poll(), Step::Answer(Answer { status: 406, .. }));
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
    assert!(matches!(exchange.poll(), Step::Page(_)));
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
            let is_unknown = matches!(&step, Step::Answer(answer) if answer.status == 404
                && refusal_in(answer).1 == -32_601);
            assert_eq!(
                !is_unknown,
                served.contains(&method),
                "{modes} {method} {step:?}"
            );
        }
    }
}

#[test]
fn webhooks_need_callers_with_names() {
    let unnamed = service(&json!({ "namesCallers": false }));
    assert_eq!(
        refusal(&mut ask(&unnamed, "events/subscribe", &params("news"))).1,
        -32_601
    );
    let listed = result(&mut ask(&unnamed, "events/list", &json!({})));
    assert_eq!(listed["events"][0]["delivery"], json!(["poll", "push"]));
    for method in ["events/subscribe", "events/unsubscribe"] {
        for event in ["news", "none"] {
            let mut exchange = ask(&service(&json!({})), method, &params(event));
            exchange.handle_caller(caller(None));
            assert_eq!(refusal(&mut exchange), (400, -32_012, Value::Null));
        }
    }
}

#[test]
fn an_unknown_event_is_not_found() {
    for method in ["events/poll", "events/stream", "events/subscribe"] {
        for event in ["none", "", "a b", "mcp.x"] {
            let refused = refusal(&mut ask(&service(&json!({})), method, &params(event)));
            assert_eq!(refused, (400, -32_011, json!({ "kind": "event" })));
        }
    }
}

#[test]
fn an_event_that_the_caller_may_not_know_looks_like_an_unknown_one() {
    for method in ["events/poll", "events/stream", "events/subscribe"] {
        let hidden = denied(method, &[], Some("no"));
        let unknown = refusal(&mut ask(&authorizing(&json!({})), method, &params("none")));
        assert_eq!(hidden, unknown);
        let bodies = [("push", true), ("none", false)].map(|(event, is_known)| {
            let service = authorizing(&json!({ "events": { "push": { "delivery": ["push"] }, "poll": { "delivery": ["poll", "webhook"] } } }));
            let mut exchange = ask(&service, method, &params(event));
            if is_known {
                exchange.handle_denied(None);
                exchange.poll();
                exchange.handle_denied(None);
                exchange.handle_shown(&[]);
            }
            answer(&mut exchange).body
        });
        assert_eq!(bodies[0], bodies[1]);
    }
}

#[test]
fn a_caller_that_knows_of_the_event_is_told_that_it_is_forbidden() {
    let told = denied("events/stream", &["push"], Some("not a member"));
    assert_eq!(told, (400, -32_012, json!({ "reason": "not a member" })));
    assert_eq!(denied("events/stream", &["push"], None).2, Value::Null);
}

#[test]
fn the_host_is_asked_by_mode_and_arguments() {
    for (method, expected) in [
        ("events/poll", Mode::Poll),
        ("events/stream", Mode::Push),
        ("events/subscribe", Mode::Webhook),
    ] {
        let Step::Authorize { mode, subject } =
            ask(&authorizing(&json!({})), method, &params("news")).poll()
        else {
            panic!("{method}");
        };
        assert_eq!(
            (mode, &*subject.name, &*subject.arguments),
            (expected, "news", "{}")
        );
    }
}

#[test]
fn the_authorizer_filters_the_list_too() {
    let mut exchange = ask(&authorizing(&json!({})), "events/list", &json!({}));
    let names = vec![name("news"), name("order.paid")];
    assert_eq!(exchange.poll(), Step::AuthorizeList { names });
    exchange.handle_shown(&[name("order.paid"), name("other")]);
    let listed = result(&mut exchange);
    assert_eq!(listed["events"].as_array().unwrap().len(), 1);
    assert_eq!(listed["events"][0]["name"], "order.paid");
}

#[test]
fn an_allowed_request_goes_on_through_mode_and_arguments() {
    let service = authorizing(&json!({ "validates": true }));
    let mut exchange = ask(&service, "events/stream", &params("news"));
    exchange.poll();
    exchange.handle_allowed();
    assert!(matches!(exchange.poll(), Step::Validate { .. }));
    exchange.handle_validity(true);
    assert!(matches!(exchange.poll(), Step::Stream { .. }));
}

#[test]
fn a_mode_that_the_type_lacks_is_unsupported() {
    let service = service(
        &json!({ "events": { "a": { "delivery": ["poll"] }, "b": { "delivery": ["push", "webhook"] } } }),
    );
    for (method, event, mode) in [
        ("events/poll", "b", "poll"),
        ("events/stream", "a", "push"),
        ("events/subscribe", "a", "webhook"),
    ] {
        let refused = refusal(&mut ask(&service, method, &params(event)));
        let data = json!({ "feature": "deliveryMode", "value": mode });
        assert_eq!(refused, (400, -32_014, data));
    }
}

#[test]
fn arguments_that_break_the_schema_are_invalid_without_an_echo() {
    let mut exchange = ask(
        &service(&json!({ "validates": true })),
        "events/poll",
        &json!({ "name": "news", "arguments": { "secret": "hush" } }),
    );
    exchange.poll();
    exchange.handle_validity(false);
    let refused = answer(&mut exchange);
    assert_eq!((refused.status, refusal_in(&refused).1), (400, -32_602));
    assert!(!refused.body.contains("hush") && !refused.body.contains("news"));
}

#[test]
fn an_answer_out_of_turn_changes_nothing() {
    let mut exchange = ask(&service(&json!({})), "events/stream", &params("news"));
    let step = exchange.poll();
    exchange.handle_allowed();
    exchange.handle_denied(None);
    exchange.handle_shown(&[]);
    exchange.handle_validity(false);
    exchange.handle_verdicts(&[]);
    exchange.handle_reply("{}");
    assert_eq!(exchange.poll(), step);
}

#[test]
fn a_stream_opens_with_what_its_request_named() {
    let mut exchange = ask_with(
        &service(&json!({})),
        "events/stream",
        &json!({ "name": "order.paid", "arguments": { "customer": "c" }, "cursor": "x", "maxAgeMs": 9 }),
        &declared(),
    );
    exchange.handle_caller(Caller::from_json(r#"{"principal":"ann","groups":["staff"]}"#).unwrap());
    assert!(exchange.opening().is_none(), "before it is judged");
    assert!(
        matches!(exchange.poll(), Step::Stream { name, groups } if *name == *"order.paid" && groups.len() == 1)
    );
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
fn groups_with_the_prefix_of_cues_are_refused() {
    for text in [
        r#"{"groups":["mcp-events:"]}"#,
        r#"{"groups":["a","mcp-events:b"]}"#,
        r#"{"groups":[""]}"#,
        r#"{"groups":1}"#,
        "[]",
    ] {
        assert_eq!(Caller::from_json(text), None, "{text}");
    }
    assert_eq!(Caller::from_json("{}"), Some(Caller::default()));
}

#[test]
fn a_host_may_refuse_at_any_step() {
    let mut exchange = ask_with(
        &service(&json!({})),
        "events/stream",
        &params("news"),
        &declared(),
    );
    exchange.poll();
    let limit = EventError::from_json(r#"{"resourceExhausted":{"limit":"streams","max":16}}"#);
    let refused = exchange.refuse(limit.unwrap());
    assert_eq!(
        refusal_in(&refused),
        (400, -32_025, json!({ "limit": "streams", "max": 16 }))
    );
    assert!(refused.body.contains("\"id\":7") && refused.retry_after.is_none());
    let away = exchange.refuse(EventError::Internal("bus".into()));
    assert_eq!(
        refusal_in(&away),
        (503, -32_603, json!({ "reason": "bus" }))
    );
    assert_eq!(
        (away.retry_after, away.refusal),
        (Some(2), Some("unavailable"))
    );
}

#[test]
fn the_numbers_are_those_that_the_client_knows() {
    for (codes, undeclared, by_declaration) in [
        ("declared", -32_011, -32_023),
        ("sep", -32_023, -32_023),
        ("sketch", -32_011, -32_011),
    ] {
        let service = service(&json!({ "codes": codes }));
        let plain = refusal(&mut ask(&service, "events/poll", &params("none")));
        let told = refusal(&mut ask_with(
            &service,
            "events/poll",
            &params("none"),
            &declared(),
        ));
        assert_eq!((plain.1, told.1), (undeclared, by_declaration));
        assert_eq!(plain.2, told.2);
    }
}

#[test]
fn json_rpc_errors_may_have_status_200_but_a_missing_bus_has_not() {
    let service = service(&json!({ "errorStatus": 200 }));
    let mut exchange = ask(&service, "events/poll", &params("none"));
    assert_eq!(refusal(&mut exchange).0, 200);
    assert_eq!(
        refusal(&mut ask(&service, "events/poll", &json!({}))).0,
        200
    );
    assert_eq!(
        exchange.refuse(EventError::Internal("bus".into())).status,
        503
    );
    assert_eq!(refusal(&mut ask(&service, "events/x", &json!({}))).0, 404);
}

#[test]
fn a_subscription_is_answered_with_the_members_of_its_reply() {
    let mut exchange = ask(&service(&json!({})), "events/subscribe", &params("news"));
    exchange.poll();
    exchange.handle_reply(
        r#"{"result":{"id":"sub_1","refreshBefore":null,"cursor":"c","truncated":false}}"#,
    );
    assert_eq!(
        result(&mut exchange),
        json!({
            "resultType": "complete", "id": "sub_1", "refreshBefore": null, "cursor": "c", "truncated": false,
        })
    );
    let mut exchange = ask(&service(&json!({})), "events/subscribe", &params("news"));
    exchange.poll();
    exchange.handle_reply(r#"{"error":{"callbackEndpoint":"challenge_failed"}}"#);
    assert_eq!(
        refusal(&mut exchange),
        (400, -32_015, json!({ "reason": "challenge_failed" }))
    );
}

#[test]
fn a_reply_that_cannot_be_read_is_an_error_of_the_server() {
    for reply in [
        "",
        "{}",
        "[]",
        r#"{"result":1}"#,
        r#"{"error":1}"#,
        r#"{"error":{"x":1}}"#,
    ] {
        let mut exchange = ask(&service(&json!({})), "events/subscribe", &params("news"));
        exchange.poll();
        exchange.handle_reply(reply);
        assert_eq!(
            refusal(&mut exchange),
            (503, -32_603, json!({ "reason": "webhook" })),
            "{reply}"
        );
    }
}

#[test]
fn an_unsubscribe_of_nothing_fails_only_for_clients_that_expect_it() {
    for (codes, capabilities, is_told) in [
        ("declared", json!({}), false),
        ("declared", declared(), true),
        ("sketch", json!({}), false),
        ("sketch", declared(), true),
        ("sep", json!({}), true),
    ] {
        let service = service(&json!({ "codes": codes }));
        let missing = EventError::NotFound(Missing::Subscription).to_json();
        for (reply, is_told) in [
            (format!(r#"{{"error":{missing}}}"#), is_told),
            (r#"{"result":{}}"#.to_owned(), false),
        ] {
            let mut exchange = ask_with(
                &service,
                "events/unsubscribe",
                &params("news"),
                &capabilities,
            );
            exchange.poll();
            exchange.handle_reply(&reply);
            if is_told {
                assert_eq!(refusal(&mut exchange).2, json!({ "kind": "subscription" }));
            } else {
                assert_eq!(result(&mut exchange), json!({ "resultType": "complete" }));
            }
        }
    }
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
        assert_eq!(exchange.poll() != Step::Pass, is_ours, "{method}");
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
