use std::time::Duration;

use mcp_listen::{capabilities::Capabilities, clock::Millis, limits::Limits};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn missing_limits_have_defaults() {
    let given = r#"{"uris":1,"taskIdBytes":0,"streams":null,"closeMs":{"x":1.5}}"#;
    let limits = Limits {
        uris: 1,
        task_id_bytes: 0,
        ..Limits::default()
    };
    assert_eq!(Limits::from_json(given), Some(limits));
    assert_eq!(Limits::from_json("{}"), Some(Limits::default()));
}

#[test]
fn each_limit_is_read_under_its_name() {
    let given = r#"{"bodyBytes":1,"depth":2,"idBytes":3,"uris":4,"uriBytes":5,"taskIds":6,"taskIdBytes":7}"#;
    let limits = Limits {
        body_bytes: 1,
        depth: 2,
        id_bytes: 3,
        uris: 4,
        uri_bytes: 5,
        task_ids: 6,
        task_id_bytes: 7,
    };
    assert_eq!(Limits::from_json(given), Some(limits));
}

#[test]
fn a_limit_is_a_whole_number() {
    for limit in [
        "1.5",
        "-1",
        "\"1\"",
        "null",
        "true",
        "[1]",
        "9007199254740992",
    ] {
        let given = format!(r#"{{"depth":{limit}}}"#);
        assert_eq!(Limits::from_json(&given), None, "{limit}");
    }
    for given in ["", "null", "[]", "1", "{"] {
        assert_eq!(Limits::from_json(given), None, "{given}");
    }
}

#[test]
fn declared_capabilities_are_those_of_the_protocol() {
    let given = r#"{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true,"x":1},"extensions":{"io.modelcontextprotocol/tasks":{},"y":1},"logging":null}"#;
    let declared = Capabilities {
        tools_list_changed: true,
        resources_subscribe: true,
        tasks: true,
        ..Capabilities::default()
    };
    assert_eq!(Capabilities::declared(given), Some(declared));
    let none = Some(Capabilities::default());
    assert_eq!(Capabilities::declared("{}"), none);
}

#[test]
fn invalid_declared_capabilities_are_refused() {
    for given in [
        "",
        "null",
        "[]",
        "true",
        r#"{"tools":true}"#,
        r#"{"prompts":null}"#,
        r#"{"tools":{"listChanged":1}}"#,
        r#"{"resources":{"subscribe":"yes"}}"#,
        r#"{"extensions":[]}"#,
        r#"{"extensions":{"io.modelcontextprotocol/tasks":true}}"#,
    ] {
        assert_eq!(Capabilities::declared(given), None, "{given}");
    }
}

#[test]
fn a_span_that_is_too_long_for_the_clock_is_cut() {
    assert_eq!(Millis::from(Duration::from_millis(1_999)), Millis(1_999));
    for span in [Duration::MAX, Duration::from_secs(1 << 61)] {
        assert!(Millis::from(span) > Millis(u64::MAX - 2_000), "{span:?}");
    }
}
