//! The types that users of the crate serialize and deserialize with `serde`.

use mcp_listen::{
    event::{ServerEvent, ServerEventError},
    filter::SubscriptionFilter,
    scope::Name,
    task::TaskId,
    topic::Topic,
    uri::Uri,
    wire::{FollowResponse, ProtocolError},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::uri;

const EVENTS: [&str; 6] = [
    r#"{"kind":"tools_list_changed"}"#,
    r#"{"kind":"resource_updated","uri":"note://\"a\""}"#,
    r#"{"kind":"task_status","task":{"taskId":"1","status":"working","n":[1,-2,0.5,null,true,{}],"o":{"a":"é"}}}"#,
    r#"{"kind":"for_group","group":"x","event":{"kind":"prompts_list_changed"}}"#,
    r#"{"kind":"disconnect","principal":"p"}"#,
    r#"{"kind":"resources_list_changed"}"#,
];

const FILTER: &str =
    r#"{"toolsListChanged":true,"resourceSubscriptions":["b","a"],"taskIds":["1"]}"#;

fn filter() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("b"), uri("a")],
        task_ids: vec![TaskId::new("1", 8).unwrap()],
        ..SubscriptionFilter::default()
    }
}

#[test]
fn a_filter_serializes_as_clients_send_it() {
    assert_eq!(filter().to_json(), FILTER);
    assert_eq!(serde_json::to_string(&filter()).unwrap(), FILTER);
}

#[test]
fn a_filter_deserializes_without_duplicates() {
    let text = r#"{"resourceSubscriptions":["b","a","b"],"toolsListChanged":true,"taskIds":["1","1"],"new":[]}"#;
    let read: SubscriptionFilter = serde_json::from_str(text).unwrap();
    assert_eq!(read, filter());
    let nothing: SubscriptionFilter = serde_json::from_str("{}").unwrap();
    assert_eq!(nothing, SubscriptionFilter::default());
}

#[test]
fn invalid_names_are_refused() {
    for text in ["\"\"", "\"\\n\"", "1", "null"] {
        assert!(serde_json::from_str::<Uri>(text).is_err(), "{text}");
        assert!(serde_json::from_str::<TaskId>(text).is_err(), "{text}");
        assert!(serde_json::from_str::<Name>(text).is_err(), "{text}");
        assert!(serde_json::from_str::<Topic>(text).is_err(), "{text}");
    }
}

#[test]
fn names_serialize_as_text() {
    let topic: Topic = serde_json::from_str("\"resource:a\"").unwrap();
    assert_eq!(topic, Topic::Resource(uri("a")));
    assert_eq!(serde_json::to_string(&topic).unwrap(), "\"resource:a\"");
    assert_eq!(serde_json::to_string(&uri("é\"")).unwrap(), "\"é\\\"\"");
}

#[test]
fn structs_serialize_as_objects() {
    let followed = r#"{"v":1,"type":"followed","seq":1,"epoch":"e","position":7,"interests":"#;
    let read = |watches: &str| FollowResponse::from_json(&format!("{followed}{watches}}}"));
    assert!(read(r#"[{"session":"s 1","uris":["a"]}]"#).is_ok());
    for watches in [
        r#"[["s 1",["a"]]]"#,
        r#"["s 1"]"#,
        r#"{"session":"s 1"}"#,
        "null",
        "[null]",
    ] {
        assert_eq!(read(watches), Err(ProtocolError::Malformed), "{watches}");
    }
}

#[test]
fn numbers_are_integers_below_2_to_the_53() {
    let read =
        |seq: &str| FollowResponse::from_json(&format!(r#"{{"v":1,"type":"stale","seq":{seq}}}"#));
    assert_eq!(
        read("9007199254740991"),
        Ok(FollowResponse::Stale { seq: (1 << 53) - 1 })
    );
    for seq in ["9007199254740992", "-1", "1.0", "1e2", "\"1\"", "null"] {
        assert_eq!(read(seq), Err(ProtocolError::Malformed), "{seq}");
    }
}

#[test]
fn an_event_serializes_as_on_the_bus() {
    for text in EVENTS {
        let event: ServerEvent = serde_json::from_str(text).unwrap();
        assert_eq!(ServerEvent::from_json(text), Ok(event.clone()), "{text}");
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), value);
    }
}

#[test]
fn an_invalid_event_has_an_error() {
    for (text, error) in [
        ("[]", ServerEventError::Malformed),
        (r#"{"kind":"new"}"#, ServerEventError::UnknownKind),
        (
            r#"{"kind":"resource_updated"}"#,
            ServerEventError::MissingUri,
        ),
        (
            r#"{"kind":"for_group","group":"x","event":{"kind":"disconnect","principal":"p"}}"#,
            ServerEventError::UnknownKind,
        ),
    ] {
        let refused = serde_json::from_str::<ServerEvent>(text).unwrap_err();
        assert!(
            refused.to_string().starts_with(&error.to_string()),
            "{refused}"
        );
    }
}
