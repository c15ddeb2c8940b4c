use mcp_listen::events::error::{CodeSet, Codes, EventError, Feature, Missing};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

type Row = (EventError, i64, i64, Value);

fn every() -> Vec<Row> {
    [of_callers(), of_servers()].concat()
}

fn of_callers() -> Vec<Row> {
    vec![
        (
            EventError::InvalidParams("x".into()),
            -32_602,
            -32_602,
            Value::Null,
        ),
        (
            EventError::NotFound(Missing::Event),
            -32_023,
            -32_011,
            json!({ "kind": "event" }),
        ),
        (
            EventError::NotFound(Missing::Subscription),
            -32_023,
            -32_011,
            json!({ "kind": "subscription" }),
        ),
        (
            EventError::Forbidden { reason: None },
            -32_024,
            -32_012,
            Value::Null,
        ),
        (
            EventError::Forbidden {
                reason: Some("revoked".into()),
            },
            -32_024,
            -32_012,
            json!({ "reason": "revoked" }),
        ),
    ]
}

fn of_servers() -> Vec<Row> {
    let unsupported = EventError::Unsupported {
        feature: Feature::DeliveryMode,
        value: Some("push".into()),
        reason: None,
    };
    vec![
        (
            EventError::ResourceExhausted {
                limit: "streams".into(),
                max: 16,
            },
            -32_025,
            -32_013,
            json!({ "limit": "streams", "max": 16 }),
        ),
        (
            unsupported,
            -32_026,
            -32_014,
            json!({ "feature": "deliveryMode", "value": "push" }),
        ),
        (
            EventError::CallbackEndpoint("timeout".into()),
            -32_027,
            -32_015,
            json!({ "reason": "timeout" }),
        ),
        (
            EventError::Internal("bus".into()),
            -32_603,
            -32_603,
            json!({ "reason": "bus" }),
        ),
    ]
}

fn object(error: &EventError, codes: CodeSet) -> Value {
    serde_json::from_str(&error.to_object(codes)).unwrap()
}

#[test]
fn each_meaning_has_a_number_in_both_sets_and_the_same_data() {
    for (error, sep, sketch, data) in every() {
        let (one, other) = (
            object(&error, CodeSet::Sep),
            object(&error, CodeSet::Sketch),
        );
        assert_eq!(
            (one["code"].as_i64(), other["code"].as_i64()),
            (Some(sep), Some(sketch))
        );
        assert_eq!((&one["data"], &other["data"]), (&data, &data), "{error:?}");
        assert_eq!(one["message"], other["message"]);
    }
}

#[test]
fn only_an_error_of_the_server_has_another_status_than_400() {
    for (error, ..) in every() {
        let is_internal = matches!(error, EventError::Internal(_));
        assert_eq!(error.status(), if is_internal { 503 } else { 400 });
    }
}

#[test]
fn an_error_survives_the_way_through_the_server() {
    for (error, ..) in every() {
        assert_eq!(EventError::from_json(&error.to_json()), Some(error));
    }
    let text = EventError::NotFound(Missing::Event).to_json();
    assert_eq!(text, r#"{"notFound":"event"}"#);
    for text in [
        "",
        "{}",
        r#"{"notFound":"x"}"#,
        r#"{"notFound":"event","internal":"x"}"#,
    ] {
        assert_eq!(EventError::from_json(text), None, "{text}");
    }
}

#[test]
fn numbers_follow_the_declared_extension_unless_the_server_chooses() {
    for (codes, declared, undeclared) in [
        (Codes::Declared, CodeSet::Sep, CodeSet::Sketch),
        (Codes::Sep, CodeSet::Sep, CodeSet::Sep),
        (Codes::Sketch, CodeSet::Sketch, CodeSet::Sketch),
    ] {
        assert_eq!(
            (codes.for_client(true), codes.for_client(false)),
            (declared, undeclared)
        );
    }
}
