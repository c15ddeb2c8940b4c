//! Which lines a stdio channel responds to itself, and with what.

use mcp_listen::{event::ServerEvent, stdio::DiscoverRequest};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    request::body,
    wire::{
        TOOLS, assert_forwarded, assert_refused, cancel, channel, open, publish, request, say,
        tools_changed, written,
    },
};

const BARE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}"#;
const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const BARE_CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;

fn calling(method: &str) -> String {
    body("0", "{}").replace("subscriptions/listen", method)
}

#[test]
fn other_cancels_are_forwarded() {
    let mut channel = channel();
    assert_forwarded(&mut channel, &calling("tools/list"));
    open(&mut channel, "1", TOOLS);
    for line in [
        cancel("2"),
        cancel("\"1\""),
        cancel("1.0"),
        cancel("null"),
        cancel("[1]"),
        cancel("1").replace("requestId", "requestID"),
        cancel("1").replace("\"params\"", "\"id\":5,\"params\""),
        cancel("1,\"requestId\":1"),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}"#.to_owned(),
    ] {
        assert_forwarded(&mut channel, &line);
    }
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    assert_eq!(written(&mut channel), [tools_changed("1")]);
    say(&mut channel, &cancel("1"));
    assert_forwarded(&mut channel, &cancel("1"));
}

#[test]
fn listens_get_the_same_checks_as_over_http() {
    let mut channel = channel();
    let good = body("1", "{}");
    for (line, code, id) in [
        (good.replace("2026-07-28", "2099-01-01"), -32_022, "1"),
        (good.replace("\"2026-07-28\"", "7"), -32_602, "1"),
        (good.replace("clientCapabilities", "other"), -32_602, "1"),
        (body("1", "null"), -32_602, "1"),
        (body("1", r#"{"toolsListChanged":1}"#), -32_602, "1"),
        (
            body("1", r#"{"resourceSubscriptions":["a\n"]}"#),
            -32_602,
            "1",
        ),
        (body("null", "{}"), -32_600, ""),
        (body("1.5", "{}"), -32_600, ""),
        (good.replace("\"id\":1,", ""), -32_600, ""),
        (good.replace("\"2.0\"", "\"1.0\""), -32_600, "1"),
        (
            good.replace("\"method\"", "\"method\":\"tools/list\",\"method\""),
            -32_600,
            "1",
        ),
        (
            format!("{good}{}", " ".repeat(3)).replace(
                "{}}}",
                &format!("{{}},\"x\":\"{}\"}}}}", "y".repeat(65_536)),
            ),
            -32_600,
            "1",
        ),
    ] {
        assert_refused(&mut channel, &line, code, id);
    }
    request(&mut channel, "1", TOOLS);
}

#[test]
fn a_too_long_line_is_refused_and_skipped() {
    let mut channel = channel();
    let long = "x".repeat(100_001);
    assert_refused(&mut channel, &long, -32_600, "");
    request(&mut channel, "1", TOOLS);
}

#[test]
fn everything_else_is_forwarded() {
    let mut channel = channel();
    for line in [
        "",
        "garbage",
        "{",
        "\u{feff}{}",
        "[]",
        "null",
        &format!("[{}]", body("1", "{}")),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"  {"jsonrpc" : "2.0", "method":"notifications/initialized"}  "#,
        &body("1", "{}").replace("subscriptions/listen", "tools/list"),
        &"x".repeat(100_000),
    ] {
        assert_forwarded(&mut channel, line);
    }
}

#[test]
fn a_listen_without_meta_is_ours_after_a_modern_request() {
    let mut channel = channel();
    assert_forwarded(&mut channel, BARE);
    assert_forwarded(&mut channel, &calling("server/discover"));
    assert_refused(&mut channel, BARE, -32_602, "1");
}

#[test]
fn a_connection_opened_by_initialize_has_no_listens() {
    let discover = calling("server/discover");
    for probe in [None, Some(discover)] {
        let mut channel = channel();
        for line in probe.iter().map(String::as_str).chain([
            INITIALIZE,
            BARE,
            &body("1", "{}"),
            &cancel("1"),
        ]) {
            assert_forwarded(&mut channel, line);
        }
    }
}

#[test]
fn a_bare_message_is_refused_if_the_server_would_take_it_for_legacy() {
    for passed in [None, Some(calling("server/discover"))] {
        let mut channel = channel();
        if let Some(line) = &passed {
            assert_forwarded(&mut channel, line);
        }
        open(&mut channel, "1", TOOLS);
        assert_refused(&mut channel, INITIALIZE, -32_022, "0");
        assert_refused(&mut channel, BARE_CALL, -32_602, "7");
        assert_eq!(say(&mut channel, &cancel("7")), []);
        publish(&mut channel, &ServerEvent::ToolsListChanged);
        assert_eq!(written(&mut channel), [tools_changed("1")]);
        for line in [&calling("tools/list"), INITIALIZE, BARE_CALL, &cancel("7")] {
            assert_forwarded(&mut channel, line);
        }
    }
}

#[test]
fn initialize_after_a_modern_request_names_the_supported_versions() {
    for passed in [None, Some(calling("server/discover"))] {
        let mut channel = channel();
        if let Some(line) = &passed {
            assert_forwarded(&mut channel, line);
        }
        open(&mut channel, "1", TOOLS);
        assert_eq!(say(&mut channel, INITIALIZE), []);
        let response = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}"#;
        assert_eq!(written(&mut channel), [response]);
    }
}

#[test]
fn only_the_response_to_discover_is_withheld_from_the_client() {
    let question = DiscoverRequest::new("token");
    let id = r#""id":"mcp-listen:discover:token""#;
    assert!(question.line().contains(id) && question.line().ends_with('\n'));
    for response in [
        r#""result":{"capabilities":{}}"#,
        r#""error":{"code":-32601}"#,
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0",{id},{response}}}"#);
        assert!(question.is_response(line.as_bytes()));
        assert!(!question.is_response(line.replace(":token", "").as_bytes()));
        assert!(!question.is_response(line.replace('{', "[").as_bytes()));
    }
    assert!(!question.is_response(question.line().as_bytes()));
}
