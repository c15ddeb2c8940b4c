use mcp_listen::{
    http::Headers,
    legacy::{LegacyOutcome, LegacyRequest, classify},
    limits::Limits,
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::check;

const JSON: &str = "content-type: application/json\n";
const SESSION: &str = "content-type: application/json\nmcp-session-id: s\n";

fn post(headers: &str, body: &str) -> LegacyOutcome {
    classify(
        "POST",
        &Headers::new(headers),
        body.as_bytes(),
        &Limits::default(),
    )
}

fn legacy(outcome: LegacyOutcome) -> LegacyRequest {
    match outcome {
        LegacyOutcome::Legacy(request) => request,
        other => panic!("{other:?}"),
    }
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{params}}}"#)
}

#[test]
fn the_version_comes_from_body_header_or_default() {
    let asks = request("initialize", r#"{"protocolVersion":"1999-01-01"}"#);
    let headers = format!("{JSON}mcp-protocol-version: 2025-06-18");
    assert_eq!(&*legacy(post(&headers, &asks)).version, "1999-01-01");
    let ping = request("ping", "{}");
    assert_eq!(&*legacy(post(&headers, &ping)).version, "2025-06-18");
    assert_eq!(&*legacy(post(JSON, &ping)).version, "2025-03-26");
}

#[test]
fn a_request_that_names_a_session_is_ours_unless_it_is_modern() {
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    let (plain, enveloped) = (request("tools/list", "{}"), request("tools/list", meta));
    let methods = ["POST", "GET", "DELETE", "OPTIONS", "HEAD", "PUT", "x"];
    let types = ["application/json; charset=latin1", "text/plain", ""];
    for method in methods {
        for (media, body) in types
            .map(|media| (media, &enveloped))
            .iter()
            .chain(&[("application/json", &plain)])
        {
            let lines =
                format!("content-type: {media}\naccept: text/event-stream\nmcp-session-id: s");
            let outcome = classify(
                method,
                &Headers::new(&lines),
                body.as_bytes(),
                &Limits::default(),
            );
            assert_eq!(
                legacy(outcome).session.as_deref(),
                Some("s"),
                "{method} {media}"
            );
        }
    }
    assert_eq!(post(SESSION, &enveloped), LegacyOutcome::PassThrough);
}

#[test]
fn any_bytes_get_an_outcome() {
    check(
        (vec(any::<u8>(), 0..64), "\\PC{0,32}"),
        |(body, headers)| {
            let headers = format!("{SESSION}{headers}");
            for method in ["POST", "GET", "DELETE"] {
                classify(method, &Headers::new(&headers), &body, &Limits::default());
            }
        },
    );
}
