use mcp_listen::{
    limits::Limits,
    listen::{self, Headers, Verdict},
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::check,
    request::{HEADERS, accept, assert_rejected, body},
};

#[test]
fn a_body_that_was_cut_off_beyond_the_limit_is_too_large() {
    let text = body("1", "{}") + &" ".repeat(70_000);
    assert_rejected(accept(HEADERS, &text[..65_537]), 413, -32_600, None);
}

#[test]
fn a_body_announced_as_too_large_need_not_be_read() {
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
fn any_bytes_get_a_verdict() {
    check(
        (vec(any::<u8>(), 0..200), "\\PC{0,60}"),
        |(body, headers)| {
            drop(accept(&headers, &body));
            drop(accept(HEADERS, &body));
        },
    );
}

#[test]
fn any_damage_to_a_request_gets_a_verdict() {
    check(
        (any::<prop::sample::Index>(), any::<u8>()),
        |(place, byte)| {
            let mut bytes = body("1", r#"{"toolsListChanged":true}"#).into_bytes();
            let place = place.index(bytes.len());
            bytes[place] = byte;
            assert_ne!(accept(HEADERS, bytes), Verdict::NotOurs);
        },
    );
}
