use mcp_listen::{
    event::{ServerEvent, ServerEventError},
    uri::UriError,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_event, check, task, updated};

#[test]
fn events_have_the_json_of_the_typescript_sdk() {
    for (event, json) in [
        (
            ServerEvent::ToolsListChanged,
            r#"{"kind":"tools_list_changed"}"#,
        ),
        (
            ServerEvent::PromptsListChanged,
            r#"{"kind":"prompts_list_changed"}"#,
        ),
        (
            ServerEvent::ResourcesListChanged,
            r#"{"kind":"resources_list_changed"}"#,
        ),
        (
            updated("note://a"),
            r#"{"kind":"resource_updated","uri":"note://a"}"#,
        ),
        (
            task(r#"{"taskId":"t","status":"working","ttlMs":null}"#),
            r#"{"kind":"task_status","task":{"taskId":"t","status":"working","ttlMs":null}}"#,
        ),
    ] {
        assert_eq!(event.to_json(), json);
        assert_eq!(ServerEvent::from_json(json), Ok(event));
    }
}

#[test]
fn a_change_of_event_types_travels_as_an_update_that_every_version_forwards() {
    let event = ServerEvent::EventsListChanged;
    let carried = r#"{"kind":"resource_updated","uri":"mcp-event:"}"#;
    let public = r#"{"kind":"events_list_changed"}"#;
    assert_eq!(event.to_json(), carried);
    assert_eq!(event.to_public_json(), public);
    for text in [carried, public] {
        assert_eq!(ServerEvent::from_json(text), Ok(event.clone()));
    }
    let of = |change: &str| format!(r#"{{"kind":"for_group","group":"x","event":{change}}}"#);
    let grouped = ServerEvent::from_json(&of(public)).unwrap();
    assert_eq!(grouped.to_json(), of(carried));
    assert_eq!(grouped.to_public_json(), of(public));
}

#[test]
fn events_round_trip_through_json() {
    check(any_event(), |event| {
        assert_eq!(ServerEvent::from_json(&event.to_json()), Ok(event));
    });
}

#[test]
fn unknown_members_are_ignored() {
    let text = r#"{"uri":"x","kind":"tools_list_changed","params":{"a":[1]}}"#;
    assert_eq!(
        ServerEvent::from_json(text),
        Ok(ServerEvent::ToolsListChanged)
    );
}

#[test]
fn an_invalid_event_has_an_error() {
    let long = format!(
        r#"{{"kind":"resource_updated","uri":"{}"}}"#,
        "x".repeat(2_049)
    );
    for (text, error, code) in [
        ("", ServerEventError::Malformed, "malformed-event"),
        ("[]", ServerEventError::Malformed, "malformed-event"),
        (
            r#"{"kind":"tools_list_changed","kind":"x"}"#,
            ServerEventError::Malformed,
            "malformed-event",
        ),
        ("{}", ServerEventError::UnknownKind, "unknown-event-kind"),
        (
            r#"{"kind":1}"#,
            ServerEventError::UnknownKind,
            "unknown-event-kind",
        ),
        (
            r#"{"kind":"Tools_list_changed"}"#,
            ServerEventError::UnknownKind,
            "unknown-event-kind",
        ),
        (
            r#"{"kind":"resource_updated"}"#,
            ServerEventError::MissingUri,
            "invalid-uri",
        ),
        (
            r#"{"kind":"resource_updated","uri":1}"#,
            ServerEventError::MissingUri,
            "invalid-uri",
        ),
        (
            r#"{"kind":"resource_updated","uri":""}"#,
            ServerEventError::Uri(UriError::Empty),
            "invalid-uri",
        ),
        (
            r#"{"kind":"resource_updated","uri":"a\n"}"#,
            ServerEventError::Uri(UriError::Control),
            "invalid-uri",
        ),
        (
            &long,
            ServerEventError::Uri(UriError::TooLong),
            "invalid-uri",
        ),
    ] {
        assert_eq!(ServerEvent::from_json(text), Err(error), "{text}");
        assert_eq!(error.code(), code);
    }
}

#[test]
fn a_task_state_is_not_repeatable() {
    let task = r#"{"kind":"task_status","task":{"taskId":"t","status":"working"}}"#;
    let tools = r#"{"kind":"tools_list_changed"}"#;
    let of = |event: &str| format!(r#"{{"kind":"for_group","group":"a","event":{event}}}"#);
    let is_repeatable = |text: &str| ServerEvent::from_json(text).unwrap().is_repeatable();
    assert!(!is_repeatable(task));
    assert!(!is_repeatable(&of(task)));
    assert!(is_repeatable(tools));
    assert!(is_repeatable(&of(tools)));
    assert!(is_repeatable(r#"{"kind":"disconnect","principal":"p"}"#));
}
