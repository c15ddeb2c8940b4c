use mcp_listen::{
    error::Reason,
    legacy::{Call, LegacyRequest, Verdict, judge},
    limits::Limits,
    listen::Headers,
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{check, uri};

const JSON: &str = "content-type: application/json\n";
const SESSION: &str = "content-type: application/json\nmcp-session-id: s\n";

fn post(headers: &str, body: &str) -> Verdict {
    judge(
        "POST",
        &Headers::new(headers),
        body.as_bytes(),
        &Limits::default(),
    )
}

fn bodiless(method: &str, headers: &str) -> Verdict {
    judge(method, &Headers::new(headers), b"", &Limits::default())
}

fn legacy(verdict: Verdict) -> LegacyRequest {
    match verdict {
        Verdict::Legacy(request) => request,
        other => panic!("{other:?}"),
    }
}

fn refused(verdict: Verdict) -> u16 {
    match verdict {
        Verdict::Rejected(rejection) => rejection.reason.status(),
        other => panic!("{other:?}"),
    }
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{params}}}"#)
}

#[test]
fn each_request_of_a_session_is_told_from_the_others() {
    for (body, call) in [
        (request("initialize", "{}"), Call::Initialize),
        (request("ping", "{}"), Call::Ping),
        (
            request("resources/subscribe", r#"{"uri":"a"}"#),
            Call::Subscribe(uri("a")),
        ),
        (
            request("resources/unsubscribe", r#"{"uri":"a"}"#),
            Call::Unsubscribe(uri("a")),
        ),
        (request("tools/list", "{}"), Call::Other),
        (request("subscriptions/listen", "{}"), Call::Other),
        (request("server/discover", "{}"), Call::Other),
        (request("notifications/initialized", "{}"), Call::Other),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
            Call::Initialized,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#.to_owned(),
            Call::Other,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(),
            Call::Other,
        ),
        ("no JSON".to_owned(), Call::Other),
        ("7".to_owned(), Call::Other),
    ] {
        let judged = legacy(post(SESSION, &body));
        assert_eq!(judged.call, call, "{body}");
        assert_eq!(judged.session.as_deref(), Some("s"));
    }
}

#[test]
fn get_and_delete_are_a_sessions_only_with_its_header() {
    let get = "mcp-session-id: s\naccept: text/event-stream\nlast-event-id: 7";
    let open = Call::Open {
        last_event_id: Some("7".into()),
    };
    assert_eq!(legacy(bodiless("GET", get)).call, open);
    assert_eq!(
        legacy(bodiless("DELETE", "mcp-session-id: s")).call,
        Call::End
    );
    for (method, headers) in [
        ("GET", "accept: text/event-stream"),
        ("DELETE", ""),
        ("PUT", get),
        ("OPTIONS", get),
        ("POST", "mcp-session-id: s\ncontent-type: text/plain"),
    ] {
        assert_eq!(bodiless(method, headers), Verdict::NotOurs);
    }
}

#[test]
fn a_stream_must_be_asked_for() {
    for accept in [
        "",
        "accept: application/json",
        "accept: text/event-stream;q=0",
    ] {
        let headers = format!("mcp-session-id: s\n{accept}");
        assert_eq!(refused(bodiless("GET", &headers)), 406);
    }
}

#[test]
fn requests_of_2026_are_not_ours() {
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    for method in ["initialize", "ping", "resources/subscribe", "tools/list"] {
        for headers in [JSON, SESSION] {
            assert_eq!(post(headers, &request(method, meta)), Verdict::NotOurs);
        }
    }
    let headers = format!("{JSON}mcp-protocol-version: 2026-07-28");
    assert_eq!(post(&headers, &request("ping", "{}")), Verdict::NotOurs);
}

#[test]
fn the_version_header_is_checked_where_it_is_given() {
    for version in ["2025-11-25", "2025-06-18", "2025-03-26"] {
        let headers = format!("{SESSION}mcp-protocol-version: {version}");
        legacy(post(&headers, &request("ping", "{}")));
    }
    for version in ["2026-07-28", "2024-11-05", "bogus", ""] {
        let headers = format!("{SESSION}mcp-protocol-version: {version}");
        assert_eq!(refused(post(&headers, &request("tools/list", "{}"))), 400);
        assert_eq!(refused(bodiless("DELETE", &headers)), 400);
        legacy(post(&headers, &request("initialize", "{}")));
    }
}

#[test]
fn a_batch_is_refused() {
    for body in ["[]", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#] {
        assert_eq!(refused(post(JSON, body)), 400);
    }
}

#[test]
fn what_we_answer_ourselves_must_be_a_request() {
    for body in [
        r#"{"jsonrpc":"2.0","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"initialize"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"id":1,"method":"resources/subscribe"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#,
    ] {
        assert_eq!(refused(post(SESSION, body)), 400, "{body}");
    }
}

#[test]
fn a_bad_uri_is_the_sessions_affair() {
    for params in [
        "{}",
        "null",
        r#"{"uri":1}"#,
        r#"{"uri":""}"#,
        r#"{"uri":"a\n"}"#,
    ] {
        let judged = legacy(post(SESSION, &request("resources/subscribe", params)));
        assert!(matches!(
            judged.call,
            Call::Invalid(Reason::InvalidParams(_))
        ));
        assert!(judged.call.needs_session());
    }
    let long = request(
        "resources/unsubscribe",
        &format!(r#"{{"uri":"{}"}}"#, "x".repeat(2_049)),
    );
    let judged = legacy(post(SESSION, &long));
    assert!(matches!(
        judged.call,
        Call::Invalid(Reason::LimitExceeded { limit: 2_048, .. })
    ));
}

#[test]
fn a_body_that_is_too_large_is_for_the_server_behind() {
    let body = request("ping", &format!("{{\"x\":\"{}\"}}", "x".repeat(70_000)));
    assert_eq!(legacy(post(SESSION, &body)).call, Call::Other);
}

#[test]
fn the_version_asked_for_is_the_bodys_or_the_headers_or_the_one_to_assume() {
    let asks = request("initialize", r#"{"protocolVersion":"1999-01-01"}"#);
    let headers = format!("{JSON}mcp-protocol-version: 2025-06-18");
    assert_eq!(&*legacy(post(&headers, &asks)).version, "1999-01-01");
    let ping = request("ping", "{}");
    assert_eq!(&*legacy(post(&headers, &ping)).version, "2025-06-18");
    assert_eq!(&*legacy(post(JSON, &ping)).version, "2025-03-26");
}

#[test]
fn any_bytes_get_a_verdict() {
    check(
        (vec(any::<u8>(), 0..64), "\\PC{0,32}"),
        |(body, headers)| {
            let headers = format!("{SESSION}{headers}");
            for method in ["POST", "GET", "DELETE"] {
                judge(method, &Headers::new(&headers), &body, &Limits::default());
            }
        },
    );
}
