use mcp_listen::{
    legacy::{LegacyRequest, Verdict, judge},
    limits::Limits,
    listen::Headers,
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::check;

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

fn legacy(verdict: Verdict) -> LegacyRequest {
    match verdict {
        Verdict::Legacy(request) => request,
        other => panic!("{other:?}"),
    }
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{params}}}"#)
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
