use mcp_listen::{
    filter::SubscriptionFilter,
    limits::Limits,
    probe::{acknowledged, initialize_request, is_over_limit, is_unknown, listen_request},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const ACK: &str = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"mcp-listen:probe"},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["note://é"],"groups":["all"]}}}"#;
const UPDATE: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"mcp-listen:probe"}}}"#;

fn filter(text: &str) -> SubscriptionFilter {
    SubscriptionFilter::from_json(text, &Limits::default()).expect("a filter")
}

#[test]
fn probes_are_requests_of_their_revisions() {
    let initialize = initialize_request();
    assert!(
        initialize.contains(r#""method":"initialize","params":{"protocolVersion":"2025-11-25""#)
    );
    let listen = listen_request(&filter(r#"{"taskIds":["t"]}"#));
    assert!(listen.contains(r#""method":"subscriptions/listen""#));
    assert!(listen.contains(r#""notifications":{"taskIds":["t"]}"#));
    assert!(listen.contains("io.modelcontextprotocol/tasks"));
}

#[test]
fn the_first_message_names_the_honored_filter() {
    let honored = filter(r#"{"toolsListChanged":true,"resourceSubscriptions":["note://é"]}"#);
    let stream = format!(": hello\n\nevent: message\ndata: {ACK}\n\n");
    for rest in ["", "event: mess", "data: {}\n\n"] {
        let body = format!("{stream}{rest}");
        assert_eq!(acknowledged(body.as_bytes()), Some(honored.clone()));
    }
    let cut = [stream.as_bytes(), &[0xc3]].concat();
    assert_eq!(acknowledged(&cut), Some(honored));
}

#[test]
fn anything_else_honors_nothing() {
    let elsewhere = ACK.replace("mcp-listen:probe", "another");
    for body in [
        String::new(),
        format!("data: {ACK}"),
        format!("data: {elsewhere}\n\n"),
        format!("data: {UPDATE}\n\ndata: {ACK}\n\n"),
        ACK.to_owned(),
    ] {
        assert_eq!(acknowledged(body.as_bytes()), None, "{body}");
    }
}

#[test]
fn only_unknown_method_and_version_errors_count() {
    let error = |code: i32| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"x"}}}}"#)
    };
    for code in [-32_601, -32_022, -32_000] {
        assert!(is_unknown(error(code).as_bytes()), "{code}");
        let indented = format!("\r\n  {}", error(code));
        assert!(is_unknown(indented.as_bytes()), "{code}");
        let stream = format!("data: {}\n\n", error(code));
        assert!(is_unknown(stream.as_bytes()), "{code}");
    }
    for code in [-32_600, -32_603, -32_001, -32_003, -32_020, 401] {
        assert!(!is_unknown(error(code).as_bytes()), "{code}");
    }
    let result = br#"{"jsonrpc":"2.0","id":1,"result":{"error":{"code":-32601}}}"#;
    assert!(!is_unknown(result));
    assert!(!is_unknown(b"Not found"));
}

#[test]
fn a_limit_is_named_by_the_data_of_an_error() {
    let error = |data: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"x","data":{data}}}}}"#
        )
    };
    assert!(is_over_limit(error(r#"{"limit":16}"#).as_bytes()));
    for data in ["{}", "16", r#"{"supported":["limit"]}"#] {
        assert!(!is_over_limit(error(data).as_bytes()), "{data}");
    }
    assert!(!is_over_limit(br#"{"result":{"data":{"limit":1}}}"#));
    assert!(!is_over_limit(b"limit"));
}
