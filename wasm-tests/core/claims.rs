use mcp_listen::{
    limits::Limits,
    listen::{self, Headers, Verdict},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::request::{HEADERS, accept, assert_rejected, body};

#[test]
fn everything_else_is_not_ours() {
    let json = "content-type: application/json";
    let modern_tool =
        "content-type: application/json\nmcp-protocol-version: 2026-07-28\nmcp-method: tools/list";
    for (method, headers, text) in [
        ("GET", HEADERS, String::new()),
        ("DELETE", HEADERS, String::new()),
        ("OPTIONS", HEADERS, String::new()),
        ("PUT", HEADERS, body("1", "{}")),
        ("POST", "content-type: text/plain", body("1", "{}")),
        (
            "POST",
            json,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#.to_owned(),
        ),
        (
            "POST",
            json,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(),
        ),
        (
            "POST",
            json,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#
                .to_owned(),
        ),
        ("POST", json, "not json".to_owned()),
        ("POST", json, String::new()),
        (
            "POST",
            modern_tool,
            body("1", "{}").replace("subscriptions/listen", "tools/list"),
        ),
        // A listen without any sign of 2026-07-28 belongs to an earlier revision, which has none.
        (
            "POST",
            json,
            r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}"#.to_owned(),
        ),
        (
            "POST",
            "content-type: application/json\nmcp-protocol-version: 2025-11-25",
            r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}"#.to_owned(),
        ),
    ] {
        let verdict = listen::accept(
            method,
            &Headers::new(headers),
            text.as_bytes(),
            &Limits::default(),
        );
        assert_eq!(verdict, Verdict::NotOurs, "{method} {text}");
    }
}

#[test]
fn a_listen_that_shows_any_sign_of_this_revision_is_ours() {
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}"#;
    for (headers, text) in [
        ("content-type: application/json", body("1", "{}")),
        (
            "content-type: application/json\nmcp-method: tools/list",
            bare.to_owned(),
        ),
        (
            "content-type: application/json\nmcp-protocol-version: 2026-07-28",
            bare.to_owned(),
        ),
        (
            "content-type: application/json\nmcp-protocol-version: 2099-01-01",
            bare.to_owned(),
        ),
    ] {
        assert_rejected(accept(headers, text), 400, -32_020, Some("1"));
    }
    assert_rejected(accept(HEADERS, bare), 400, -32_602, Some("1"));
}
