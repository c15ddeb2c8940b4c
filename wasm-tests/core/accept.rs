use mcp_listen::{
    http::Headers,
    limits::Limits,
    listen::{self, Classified},
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::check,
    request::{HEADERS, accept, assert_rejected, body, classified},
};

#[test]
fn a_body_truncated_beyond_the_limit_is_too_large() {
    let text = body("1", "{}") + &" ".repeat(70_000);
    assert_rejected(accept(HEADERS, &text[..65_537]), 413, -32_600, None);
}

#[test]
fn a_too_large_content_length_is_refused_without_reading_the_body() {
    let limits = Limits::default();
    for (length, is_too_large) in [
        ("65536", false),
        ("65537", true),
        ("99999999999999999999999", true),
        ("x", false),
        ("", false),
    ] {
        let json = format!("Content-Type: application/json\nContent-Length: {length}");
        assert_eq!(Headers::new(&json).declare_more_than(65_536), is_too_large);
        assert_eq!(
            listen::may_be_listen("POST", &Headers::new(&json), &limits),
            !is_too_large
        );
        let claiming = format!("{HEADERS}\nContent-Length: {length}");
        assert!(listen::may_be_listen(
            "POST",
            &Headers::new(&claiming),
            &limits
        ));
        let code = if is_too_large {
            (413, -32_600)
        } else {
            (400, -32_700)
        };
        assert_rejected(accept(&claiming, ""), code.0, code.1, None);
    }
}

#[test]
fn http_checks_run_before_authentication() {
    let limits = Limits::default();
    let claim = |headers: &str, body: &str| {
        listen::classify("POST", &Headers::new(headers), body.as_bytes(), &limits)
    };
    let whole = body("1", "{}");
    for rubbish in ["", "{", "[]", "{\"id\":null}", whole.as_str()] {
        assert_eq!(claim(HEADERS, rubbish), Classified::Unread);
        for (headers, status) in [
            (HEADERS.replace("application/json\n", "text/plain\n"), 415),
            (HEADERS.replace("text/event-stream", "text/html"), 406),
            (format!("{HEADERS}\nContent-Length: 65537"), 413),
        ] {
            let Classified::Rejected(rejection) = claim(&headers, rubbish) else {
                panic!("{headers} is not refused");
            };
            assert_eq!(rejection.reason.status(), status);
            assert!(rejection.reason.is_transport_level());
        }
    }
    let unclaimed = HEADERS.replace("\nMcp-Method: subscriptions/listen", "");
    assert!(matches!(claim(&unclaimed, &whole), Classified::Read(_)));
    assert_eq!(claim(&unclaimed, "{"), Classified::PassThrough);
    assert!(matches!(
        claim(&unclaimed.replace("text/event-stream", "text/html"), &whole),
        Classified::Rejected(_)
    ));
}

#[test]
fn any_bytes_get_an_outcome() {
    check(
        (vec(any::<u8>(), 0..200), "\\PC{0,60}"),
        |(body, headers)| {
            let headers = Headers::new(&headers);
            drop(classified("POST", &headers, &body, &Limits::default()));
            drop(accept(HEADERS, &body));
        },
    );
}

#[test]
fn any_damaged_request_gets_an_outcome() {
    check(
        (any::<prop::sample::Index>(), any::<u8>()),
        |(place, byte)| {
            let mut bytes = body("1", r#"{"toolsListChanged":true}"#).into_bytes();
            let place = place.index(bytes.len());
            bytes[place] = byte;
            drop(accept(HEADERS, bytes));
        },
    );
}
