//! Who may receive which events.

use std::sync::Arc;

use mcp_listen::events::{
    catalogue::Mode,
    exchange::{Caller, EventService, EventStep},
};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::host::{ask, caller, name, params, refusal, refusal_in, response, result, service};

fn authorizing(options: &Value) -> Arc<EventService> {
    let mut options = options.clone();
    options["authorizes"] = json!(true);
    service(&options)
}

/// What a caller learns that is denied, where the list shows these types.
fn denied(method: &str, shown: &[&str], reason: Option<&str>) -> (u16, i64, Value) {
    let service =
        authorizing(&json!({ "events": { "push": { "delivery": ["push"] }, "all": {} } }));
    let mut exchange = ask(&service, method, &params("push"));
    assert!(matches!(exchange.poll(), EventStep::Authorize { .. }));
    exchange.handle_denied(reason);
    let asked = EventStep::AuthorizeList {
        names: vec![name("push")],
    };
    assert_eq!(exchange.poll(), asked);
    let shown: Vec<_> = shown.iter().map(|text| name(text)).collect();
    exchange.handle_shown(&shown);
    refusal(&mut exchange)
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
        let events = json!({ "events": { "push": { "delivery": ["push"] }, "all": {} } });
        let bodies = [("push", true), ("none", false)].map(|(event, is_known)| {
            let service = authorizing(&events);
            let mut exchange = ask(&service, method, &params(event));
            if is_known {
                exchange.handle_denied(None);
                exchange.poll();
                exchange.handle_denied(None);
                exchange.handle_shown(&[]);
            }
            response(&mut exchange).body
        });
        assert_eq!(bodies[0], bodies[1]);
    }
}

#[test]
fn a_caller_that_knows_of_the_event_learns_that_it_is_forbidden() {
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
        let EventStep::Authorize { mode, subject } =
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
    assert_eq!(exchange.poll(), EventStep::AuthorizeList { names });
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
    assert!(matches!(exchange.poll(), EventStep::Validate { .. }));
    exchange.handle_validity(true);
    assert!(matches!(exchange.poll(), EventStep::Stream { .. }));
}

#[test]
fn a_mode_that_the_type_lacks_is_unsupported() {
    let service = service(&json!({ "events": {
            "a": { "delivery": ["poll"] },
            "b": { "delivery": ["push", "webhook"] },
        } }));
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
    let refused = response(&mut exchange);
    assert_eq!((refused.status, refusal_in(&refused).1), (400, -32_602));
    let body = refused.body.unwrap();
    assert!(!body.contains("hush") && !body.contains("news"));
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
