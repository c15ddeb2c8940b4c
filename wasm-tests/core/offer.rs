use mcp_listen::offer::{advertise_changes, withhold_changes};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const RESPONSE: &str = r#"{"jsonrpc":"2.0","id":"x","result":{"ttlMs":5,"capabilities":{"tools":{"listChanged":false},"resources":{"x":1},"logging":{}},"instructions":"é"}}"#;
const ADVERTISED: &str = r#"{"jsonrpc":"2.0","id":"x","result":{"ttlMs":5,"capabilities":{"tools":{"listChanged":true},"resources":{"x":1,"listChanged":true,"subscribe":true},"logging":{}},"instructions":"é"}}"#;

#[test]
fn every_offered_feature_advertises_changes() {
    assert_eq!(
        advertise_changes(RESPONSE.as_bytes()).as_deref(),
        Some(ADVERTISED)
    );
    let stream = format!(": x\n\nevent: message\ndata: {RESPONSE}\n\n");
    assert_eq!(
        advertise_changes(stream.as_bytes()).as_deref(),
        Some(ADVERTISED)
    );
    assert_eq!(
        advertise_changes(ADVERTISED.as_bytes()).as_deref(),
        Some(ADVERTISED)
    );
}

#[test]
fn a_response_without_capabilities_is_unchanged() {
    for body in [
        "",
        "{",
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":7}}"#,
    ] {
        assert_eq!(advertise_changes(body.as_bytes()), None, "{body}");
    }
    assert_eq!(advertise_changes(&[0xff]), None);
}

#[test]
fn only_features_that_are_objects_count_as_offered() {
    let body = r#"{"result":{"capabilities":{"tools":true,"prompts":{}}}}"#;
    let reported = r#"{"result":{"capabilities":{"tools":{},"prompts":{"listChanged":true}}}}"#;
    assert_eq!(
        advertise_changes(body.as_bytes()).as_deref(),
        Some(reported)
    );
}

#[test]
fn without_streams_no_changes_are_advertised() {
    let reported = r#"{"jsonrpc":"2.0","id":"x","result":{"ttlMs":5,"capabilities":{"tools":{},"resources":{"x":1},"logging":{}},"instructions":"é"}}"#;
    assert_eq!(
        withhold_changes(RESPONSE.as_bytes()).as_deref(),
        Some(reported)
    );
    assert_eq!(
        withhold_changes(ADVERTISED.as_bytes()).as_deref(),
        Some(reported)
    );
    let stream = format!(": x\n\nevent: message\ndata: {ADVERTISED}\n\n");
    assert_eq!(
        withhold_changes(stream.as_bytes()).as_deref(),
        Some(reported)
    );
    assert_eq!(withhold_changes(br#"{"result":{"capabilities":7}}"#), None);
    let body = r#"{"result":{"capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#;
    assert_eq!(withhold_changes(body.as_bytes()).as_deref(), Some(body));
}
