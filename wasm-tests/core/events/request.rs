//! The parameters of requests about events.

use mcp_listen::{
    clock::Millis,
    events::{cursor, exchange::EventStep, page::LogQuery, webhook::RequestedTtl},
};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::host::{ask, ask_with, body, declared, refusal, response, result, service};

fn query(params: &Value) -> LogQuery {
    match ask(&service(&json!({})), "events/poll", params).poll() {
        EventStep::Page(query) => query,
        step => panic!("{step:?}"),
    }
}

fn is_invalid(method: &str, params: &Value) -> bool {
    let mut exchange = ask(&service(&json!({})), method, params);
    let refused = matches!(exchange.poll(), EventStep::Respond(response) if response.status == 400);
    refused && refusal(&mut exchange).1 == -32_602
}

fn subscribe(members: &Value) -> Value {
    let mut params = json!({
        "name": "news",
        "delivery": { "mode": "webhook", "url": "https://a.example/h?x=1", "secret": "whsec_x" },
    });
    for (name, value) in members.as_object().unwrap() {
        params[name] = value.clone();
    }
    params
}

fn requested_ttl(members: &Value) -> RequestedTtl {
    match ask(
        &service(&json!({})),
        "events/subscribe",
        &subscribe(members),
    )
    .poll()
    {
        EventStep::Subscribe(webhook) => webhook.delivery.ttl,
        step => panic!("{step:?}"),
    }
}

#[test]
fn an_absent_cursor_and_null_both_mean_now() {
    for params in [
        json!({ "name": "news" }),
        json!({ "name": "news", "cursor": null }),
    ] {
        assert_eq!(query(&params).cursor, None);
    }
    let query = query(&json!({ "name": "news", "cursor": "x" }));
    assert_eq!(query.cursor.as_deref(), Some("x"));
}

#[test]
fn a_cursor_that_is_not_a_string_is_invalid() {
    for method in ["events/poll", "events/stream", "events/list"] {
        for cursor in [json!(1), json!({}), json!(false)] {
            let params = json!({ "name": "news", "cursor": cursor });
            assert!(is_invalid(method, &params), "{method} {params}");
        }
    }
    assert!(is_invalid(
        "events/subscribe",
        &subscribe(&json!({ "cursor": 1 }))
    ));
}

#[test]
fn a_text_that_is_too_long_for_a_cursor_stands_for_a_position_that_is_gone() {
    let long = "A".repeat(cursor::MAX_CHARACTERS + 1);
    let query = query(&json!({ "name": "news", "cursor": long }));
    let cursor = query.cursor.unwrap();
    assert!(cursor.len() <= cursor::MAX_CHARACTERS && cursor::from_text(&cursor).is_none());
}

#[test]
fn a_poll_returns_50_occurrences_unless_it_asks_for_more_or_less_and_at_most_200() {
    for (asked, most) in [
        (Value::Null, 50),
        (json!(1), 1),
        (json!(2.0), 2),
        (json!(200), 200),
        (json!(1e9), 200),
    ] {
        let query = query(&json!({ "name": "news", "maxEvents": asked }));
        assert_eq!(query.max_events, most);
        assert!(query.max_bytes < 1 << 20 && query.max_scan == 1 << 20);
    }
    for asked in [json!(0), json!(-1), json!("5"), json!([])] {
        assert!(is_invalid(
            "events/poll",
            &json!({ "name": "news", "maxEvents": asked })
        ));
    }
}

#[test]
fn an_age_is_a_number_of_milliseconds_or_none() {
    for (asked, age) in [
        (Value::Null, None),
        (json!(0), Some(Millis(0))),
        (json!(1_500.7), Some(Millis(1_500))),
        (json!(1e300), Some(Millis((1 << 53) - 1))),
    ] {
        let query = query(&json!({ "name": "news", "maxAgeMs": asked }));
        assert_eq!(query.max_age_ms, age);
        assert_eq!(LogQuery::from_json(&query.to_json()), Some(query));
    }
    for asked in [json!(-1), json!("1"), json!({})] {
        assert!(is_invalid(
            "events/poll",
            &json!({ "name": "news", "maxAgeMs": asked })
        ));
    }
}

#[test]
fn the_wait_of_a_long_poll_is_ignored() {
    for wait in [json!(30_000), json!("x"), json!(null)] {
        query(&json!({ "name": "news", "timeoutMs": wait, "other": 1 }));
    }
}

#[test]
fn the_name_is_a_string() {
    for method in ["events/poll", "events/stream"] {
        for params in [json!({}), json!({ "name": 1 }), json!({ "name": null })] {
            assert!(is_invalid(method, &params), "{params}");
        }
    }
}

#[test]
fn arguments_are_an_object_of_at_most_4_kib_and_32_levels() {
    let deep = |levels: usize| {
        let text = format!("{}{}", "{\"a\":".repeat(levels - 1), "{}") + &"}".repeat(levels - 1);
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let wide = |bytes: usize| json!({ "a": "x".repeat(bytes - r#"{"a":""}"#.len()) });
    for (arguments, is_valid) in [
        (json!({}), true),
        (deep(32), true),
        (deep(33), false),
        (wide(4_096), true),
        (wide(4_097), false),
        (json!([]), false),
        (json!("x"), false),
        (json!(null), false),
    ] {
        let params = json!({ "name": "news", "arguments": arguments });
        assert_eq!(!is_invalid("events/poll", &params), is_valid, "{params}");
    }
}

#[test]
fn arguments_reach_the_host_in_canonical_form() {
    let validating = service(&json!({ "validates": true }));
    let mut exchange = ask(&validating, "events/poll", &json!({ "name": "news" }));
    let EventStep::Validate { subject } = exchange.poll() else {
        panic!("{:?}", exchange.poll());
    };
    assert_eq!((&*subject.name, &*subject.arguments), ("news", "{}"));
    let params = json!({ "name": "news", "arguments": { "b": 1.0, "a": [] } });
    let mut exchange = ask(&validating, "events/poll", &params);
    let EventStep::Validate { subject } = exchange.poll() else {
        panic!("{:?}", exchange.poll());
    };
    assert_eq!(&*subject.arguments, r#"{"a":[],"b":1}"#);
}

#[test]
fn a_webhook_is_passed_on_as_the_client_wrote_it() {
    let params = subscribe(&json!({ "arguments": { "a": 1 }, "cursor": "c", "maxAgeMs": 5 }));
    let mut exchange = ask_with(
        &service(&json!({})),
        "events/subscribe",
        &params,
        &declared(),
    );
    let EventStep::Subscribe(webhook) = exchange.poll() else {
        panic!("{:?}", exchange.poll());
    };
    assert_eq!(&*webhook.principal, "ann");
    assert_eq!(
        (&*webhook.subject.name, &*webhook.subject.arguments),
        ("news", r#"{"a":1}"#)
    );
    assert_eq!(&*webhook.delivery.url, "https://a.example/h?x=1");
    assert_eq!(&*webhook.delivery.secret, "whsec_x");
    assert_eq!(webhook.start.cursor.as_deref(), Some("c"));
    assert_eq!(webhook.start.max_age, Some(Millis(5)));
    assert_eq!(webhook.codes, mcp_listen::events::error::CodeSet::Sep);
    assert!(!format!("{webhook:?}").contains("whsec_"));
}

#[test]
fn a_lifetime_is_any_number_or_null_or_absent() {
    assert_eq!(requested_ttl(&json!({})), RequestedTtl::Default);
    assert_eq!(
        requested_ttl(&json!({ "ttlMs": null })),
        RequestedTtl::Endless
    );
    for (ttl, millis) in [
        (json!(0), 0),
        (json!(60_000), 60_000),
        (json!(-5), 0),
        (json!(1.5), 1),
        (json!(1e300), (1 << 53) - 1),
    ] {
        assert_eq!(
            requested_ttl(&json!({ "ttlMs": ttl })),
            RequestedTtl::For(Millis(millis)),
            "{ttl}"
        );
    }
    for ttl in [json!("1"), json!(true), json!({})] {
        assert!(is_invalid(
            "events/subscribe",
            &subscribe(&json!({ "ttlMs": ttl }))
        ));
    }
}

#[test]
fn a_delivery_has_a_url_and_a_secret_and_is_a_webhook_unless_it_says_otherwise() {
    let delivery = |delivery: Value| subscribe(&json!({ "delivery": delivery }));
    let plain = delivery(json!({ "url": "u", "secret": "s" }));
    let mut exchange = ask(&service(&json!({})), "events/subscribe", &plain);
    assert!(matches!(exchange.poll(), EventStep::Subscribe(_)));
    for wrong in [
        json!({ "url": "u" }),
        json!({ "secret": "s" }),
        json!({ "url": 1, "secret": "s" }),
        json!({ "url": "u", "secret": 1 }),
        json!({ "mode": 1, "url": "u", "secret": "s" }),
        json!(null),
    ] {
        assert!(is_invalid("events/subscribe", &delivery(wrong)));
    }
    let other = delivery(json!({ "mode": "mail", "url": "u", "secret": "s" }));
    let refused = refusal(&mut ask(&service(&json!({})), "events/subscribe", &other));
    assert_eq!(
        refused,
        (400, -32_014, json!({ "feature": "deliveryMode" }))
    );
}

#[test]
fn an_unsubscribe_needs_a_url_and_ignores_the_rest() {
    let params = json!({
        "name": "gone", "delivery": { "mode": "x", "url": "u", "secret": 1 }, "ttlMs": "x",
    });
    let mut exchange = ask(&service(&json!({})), "events/unsubscribe", &params);
    let EventStep::Unsubscribe {
        principal,
        subject,
        url,
    } = exchange.poll()
    else {
        panic!("{:?}", exchange.poll());
    };
    assert_eq!((&*principal, &*subject.name, &*url), ("ann", "gone", "u"));
    assert!(is_invalid("events/unsubscribe", &json!({ "name": "news" })));
}

#[test]
fn a_list_begins_where_its_cursor_says() {
    let service = service(&json!({}));
    let all = result(&mut ask(&service, "events/list", &json!({})));
    assert_eq!(all["events"].as_array().unwrap().len(), 2);
    let rest = result(&mut ask(
        &service,
        "events/list",
        &json!({ "cursor": "news" }),
    ));
    assert_eq!(rest["events"][0]["name"], "order.paid");
    assert!(is_invalid("events/list", &json!({ "cursor": "no name" })));
    let foreign = result(&mut ask(&service, "events/list", &json!({ "cursor": "o" })));
    assert_eq!(
        foreign["events"][0]["name"], "order.paid",
        "the type may be gone"
    );
}

#[test]
fn an_id_comes_back_verbatim() {
    for id in ["0", "\"\"", "12345678901234567890", "\"\\u0061\""] {
        let mut exchange = ask(&service(&json!({})), "events/list", &json!({}));
        exchange.handle_body(body(id, "events/list", &json!({}), &json!({})));
        let body = response(&mut exchange).body.unwrap();
        assert!(
            body.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#)),
            "{body}"
        );
    }
}
