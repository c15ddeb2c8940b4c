//! How a request about events gets a response.

use mcp_listen::events::error::{EventError, Missing};
use serde_json::json;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::host::{ask, ask_with, declared, params, refusal, refusal_in, result, service};

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
    assert!(refused.retry_after.is_none() && refused.body.unwrap().contains("\"id\":7"));
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
fn a_subscription_gets_the_members_of_its_result() {
    let mut exchange = ask(&service(&json!({})), "events/subscribe", &params("news"));
    exchange.poll();
    exchange.handle_response(
        r#"{"result":{"id":"sub_1","refreshBefore":null,"cursor":"c","truncated":false}}"#,
    );
    assert_eq!(
        result(&mut exchange),
        json!({
            "resultType": "complete", "id": "sub_1", "refreshBefore": null, "cursor": "c",
            "truncated": false,
        })
    );
    let mut exchange = ask(&service(&json!({})), "events/subscribe", &params("news"));
    exchange.poll();
    exchange.handle_response(r#"{"error":{"callbackEndpoint":"challenge_failed"}}"#);
    assert_eq!(
        refusal(&mut exchange),
        (400, -32_015, json!({ "reason": "challenge_failed" }))
    );
}

#[test]
fn a_response_that_cannot_be_read_is_an_error_of_the_server() {
    for response in [
        "",
        "{}",
        "[]",
        r#"{"result":1}"#,
        r#"{"error":1}"#,
        r#"{"error":{"x":1}}"#,
    ] {
        let mut exchange = ask(&service(&json!({})), "events/subscribe", &params("news"));
        exchange.poll();
        exchange.handle_response(response);
        assert_eq!(
            refusal(&mut exchange),
            (503, -32_603, json!({ "reason": "webhook" })),
            "{response}"
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
        for (response, is_told) in [
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
            exchange.handle_response(&response);
            if is_told {
                assert_eq!(refusal(&mut exchange).2, json!({ "kind": "subscription" }));
            } else {
                assert_eq!(result(&mut exchange), json!({ "resultType": "complete" }));
            }
        }
    }
}
