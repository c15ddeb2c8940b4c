use mcp_listen::{
    capabilities::Capabilities,
    id::RequestId,
    legacy::{Initialized, initialized, negotiate},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn id() -> RequestId {
    RequestId::from_raw("12345678901234567890", 256).unwrap()
}

fn response(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
}

fn merged(result: &str, known: Option<Capabilities>) -> Initialized {
    initialized(&id(), response(result).as_bytes(), known).unwrap()
}

fn all() -> Capabilities {
    Capabilities {
        tools_list_changed: true,
        prompts_list_changed: true,
        resources_list_changed: true,
        resources_subscribe: true,
        ..Capabilities::default()
    }
}

#[test]
fn a_supported_version_is_accepted_and_any_other_becomes_the_latest() {
    for version in ["2025-11-25", "2025-06-18", "2025-03-26"] {
        assert_eq!(negotiate(version), version);
    }
    for version in ["2024-11-05", "1999-01-01", "2026-07-28", "", "2025-11-25 "] {
        assert_eq!(negotiate(version), "2025-11-25");
    }
}

#[test]
fn without_known_capabilities_those_of_the_server_apply() {
    let said = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true}}}"#;
    assert_eq!(merged(said, None).capabilities, all());
    let silent = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
    assert_eq!(merged(silent, None).capabilities, Capabilities::default());
}

#[test]
fn a_response_without_a_result_begins_no_session() {
    for body in [
        "",
        "no JSON",
        "[]",
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
    ] {
        assert_eq!(initialized(&id(), body.as_bytes(), Some(all())), None);
    }
    assert_eq!(initialized(&id(), &[0xff, 0xfe], None), None);
}

#[test]
fn capabilities_round_trip_through_text() {
    for bits in 0..16u8 {
        let capabilities = Capabilities {
            tools_list_changed: bits & 1 > 0,
            prompts_list_changed: bits & 2 > 0,
            resources_list_changed: bits & 4 > 0,
            resources_subscribe: bits & 8 > 0,
            ..Capabilities::default()
        };
        assert_eq!(
            Capabilities::from_json(&capabilities.to_json()),
            capabilities
        );
    }
    assert_eq!(Capabilities::from_json("{"), Capabilities::default());
}
