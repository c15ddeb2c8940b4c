use mcp_listen::{
    error::{Reason, Rejection},
    http::{Headers, Policy, Screening},
    limits::Limits,
    off::{OffOutcome, classify},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::id;

const JSON: &str = "Content-Type: application/json";
const LISTEN: &str = "Content-Type: application/json\nMcp-Method: subscriptions/listen";
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

fn classified(headers: &str, body: &str) -> OffOutcome {
    classify(
        "POST",
        &Headers::new(headers),
        body.as_bytes(),
        &Limits::default(),
    )
}

fn message(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{params}}}}}"#)
}

fn not_found(raw_id: Option<&str>) -> Rejection {
    Rejection::new(Reason::MethodNotFound, raw_id.map(id))
}

#[test]
fn a_listen_is_method_not_found_with_its_id() {
    let listen = message("subscriptions/listen", META);
    for headers in [LISTEN, JSON, "Mcp-Method: subscriptions/listen"] {
        let outcome = classified(headers, &listen);

        assert_eq!(
            outcome,
            OffOutcome::Listen(not_found(Some("7"))),
            "{headers}"
        );
    }
    let OffOutcome::Listen(rejection) = classified(LISTEN, &listen) else {
        panic!("not refused");
    };
    assert_eq!(rejection.reason.status(), 404);
    assert_eq!(rejection.reason.json_rpc_code(), -32_601);
    assert_eq!(rejection.reason.retry_after(), None);
}

#[test]
fn an_invalid_listen_is_method_not_found_too() {
    let refused = OffOutcome::Listen(not_found(None));
    for body in ["", "{", "[]", r#"{"id":null}"#] {
        assert_eq!(classified(LISTEN, body), refused, "{body}");
    }
    let long = format!("{{\"id\":7,\"x\":\"{}\"", "x".repeat(70_000));
    assert_eq!(classified(LISTEN, &long), refused);
    let wrong = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#;
    assert_eq!(
        classified(LISTEN, wrong),
        OffOutcome::Listen(not_found(Some("\"a\"")))
    );
}

#[test]
fn a_legacy_subscribe_is_method_not_found() {
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        for params in [r#""uri":"note://a""#, r#""uri":7"#, ""] {
            let outcome = classified(JSON, &message(method, params));
            assert_eq!(
                outcome,
                OffOutcome::Subscribe(not_found(Some("7"))),
                "{params}"
            );
        }
        let enveloped = message(method, META);
        assert_eq!(classified(JSON, &enveloped), OffOutcome::PassThrough);
    }
}

#[test]
fn everything_else_is_forwarded_and_capabilities_are_adjusted() {
    let discover = message("server/discover", META);
    assert_eq!(classified(JSON, &discover), OffOutcome::Capabilities);
    let initialize = message("initialize", r#""protocolVersion":"2025-11-25""#);
    assert_eq!(classified(JSON, &initialize), OffOutcome::Capabilities);
    for body in [&message("tools/list", META), &message("ping", ""), "[]", ""] {
        assert_eq!(classified(JSON, body), OffOutcome::PassThrough, "{body}");
    }
    assert_eq!(
        classified("Content-Type: text/plain", &initialize),
        OffOutcome::PassThrough
    );
    let headers = Headers::new("");
    let limits = Limits::default();
    assert_eq!(
        classify("DELETE", &headers, b"", &limits),
        OffOutcome::PassThrough
    );
}

#[test]
fn capabilities_are_adjusted_for_every_kind_of_request() {
    let strange_id = r#"{"jsonrpc":"2.0","id":1.5,"method":"initialize","params":{}}"#;
    let without_version = r#"{"id":1,"method":"initialize"}"#;
    for body in [strange_id, without_version, &message("initialize", META)] {
        assert_eq!(classified(JSON, body), OffOutcome::Capabilities, "{body}");
    }
}

#[test]
fn get_is_not_served_without_streams() {
    let policy = Policy::new("", None).unwrap();
    let screen = |policy: &Policy, method: &str| {
        policy.screen(method, "https://mcp.example/mcp", &Headers::new(""))
    };
    let without = policy.clone().without_streams();
    let allow = vec![("allow", String::from("POST, DELETE, OPTIONS"))];
    assert_eq!(
        screen(&without, "GET"),
        Screening::Refused(Reason::MethodNotAllowed, allow)
    );
    for method in ["POST", "DELETE"] {
        assert_eq!(screen(&without, method), Screening::Passed(vec![]));
    }
    assert_eq!(screen(&policy, "GET"), Screening::Passed(vec![]));
    let modern = policy.modern_only().without_streams();
    let allow = vec![("allow", String::from("POST"))];
    assert_eq!(
        screen(&modern, "DELETE"),
        Screening::Refused(Reason::MethodNotAllowed, allow)
    );
}
