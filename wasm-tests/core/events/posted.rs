use mcp_listen::events::{PostedError, posted};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn code(body: &str) -> (&'static str, Option<usize>) {
    posted(body.as_bytes())
        .map_err(|error: PostedError| (error.code(), error.index()))
        .unwrap_err()
}

#[test]
fn changes_and_occurrences_are_posted_together() {
    let body = r#"[{"kind":"event","name":"a","data":{"x": 1},"eventId":"one"},
        {"method":"notifications/tools/list_changed"}]"#;
    let posted = posted(body.as_bytes()).unwrap();
    assert!(posted.is_array);
    assert_eq!(
        posted.events,
        [
            r#"{"kind":"event","name":"a","eventId":"one","data":{"x":1}}"#,
            r#"{"kind":"tools_list_changed"}"#,
        ]
    );
}

#[test]
fn the_first_invalid_event_is_named() {
    assert_eq!(code("{"), ("malformed-body", None));
    assert_eq!(code("[]"), ("no-events", None));
    assert_eq!(
        code(r#"{"kind":"event","name":"a"}"#),
        ("invalid-event-data", Some(0))
    );
    let second = r#"[{"kind":"event","name":"a","data":{}},{"kind":"unknown"}]"#;
    assert_eq!(code(second), ("unknown-event-kind", Some(1)));
    let disconnect = r#"{"kind":"disconnect","principal":"p"}"#;
    assert_eq!(code(disconnect), ("disconnect-not-allowed", Some(0)));
}
