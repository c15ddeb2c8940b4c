use mcp_listen::{listen::Verdict, message};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::check,
    request::{HEADERS, accept, assert_accepted, assert_rejected, body},
};

#[test]
fn a_listen_request_is_accepted_with_its_id_and_filter() {
    let filter = r#"{"toolsListChanged":true,"resourceSubscriptions":["note://a"]}"#;
    for id in [
        "1",
        "\"1\"",
        "0",
        "\"\"",
        "12345678901234567890",
        "\"listen:0\"",
    ] {
        assert_accepted(accept(HEADERS, body(id, filter)), id, filter);
    }
}

#[test]
fn an_empty_filter_is_accepted() {
    for filter in [
        "{}",
        r#"{"toolsListChanged":false}"#,
        r#"{"resourceSubscriptions":[]}"#,
        r#"{"taskIds":[]}"#,
        r#"{"unheardOf":1}"#,
    ] {
        assert_accepted(accept(HEADERS, body("1", filter)), "1", "{}");
    }
}

#[test]
fn members_that_are_not_known_are_ignored() {
    let text = body("1", "{}").replace("\"params\":{", "\"extra\":[1],\"params\":{\"extra\":null,");
    assert_accepted(
        accept(
            HEADERS,
            text.replace("\"_meta\":{", "\"_meta\":{\"x/y\":1,"),
        ),
        "1",
        "{}",
    );
}

#[test]
fn header_fields_are_read_in_any_case_and_trimmed() {
    let headers = "CONTENT-TYPE: Application/JSON; charset=\"UTF-8\"\nmcp-protocol-version:\t2026-07-28 \nMCP-METHOD:   subscriptions/listen  ";
    assert_accepted(accept(headers, body("1", "{}")), "1", "{}");
}

#[test]
fn an_accept_header_that_allows_streams_or_is_absent_will_do() {
    for accepts in [
        "",
        "\nAccept: */*",
        "\nAccept: text/*",
        "\nAccept: application/json, TEXT/event-stream;q=0.5",
    ] {
        let headers = HEADERS.replace("\nAccept: application/json, text/event-stream", accepts);
        assert_accepted(accept(&headers, body("1", "{}")), "1", "{}");
    }
    for accepts in [
        "application/json",
        "text/html, application/*",
        "text/event-stream;q=0, */*; q=0.0",
    ] {
        let headers = HEADERS.replace("application/json, text/event-stream", accepts);
        assert_rejected(accept(&headers, body("1", "{}")), 406, -32_600, Some("1"));
    }
}

#[test]
fn a_body_declared_as_anything_but_plain_json_is_415() {
    for content in [
        "Content-Type: text/plain",
        "Content-Type: application/json; charset=utf-16",
        "X: y",
        "Content-Type: application/json\nContent-Encoding: gzip",
        "Content-Type: application/jsonx",
    ] {
        let headers = HEADERS.replace("Content-Type: application/json", content);
        assert_rejected(accept(&headers, body("1", "{}")), 415, -32_600, Some("1"));
    }
}

#[test]
fn the_size_of_the_body_is_bounded() {
    let padded = |length: usize| {
        let text = body("1", "{}");
        let padding = " ".repeat(length - text.len());
        text + &padding
    };
    assert_accepted(accept(HEADERS, padded(65_535)), "1", "{}");
    assert_accepted(accept(HEADERS, padded(65_536)), "1", "{}");
    assert_rejected(accept(HEADERS, padded(65_537)), 413, -32_600, None);
    assert_rejected(
        accept(HEADERS, &padded(70_000)[..65_537]),
        413,
        -32_600,
        None,
    );
}

#[test]
fn what_is_not_json_is_a_parse_error_without_id() {
    let valid = body("1", "{}");
    for text in [
        "",
        "{",
        "[",
        "nonsense",
        "{\"id\":NaN}",
        "{\"id\":1,}",
        "{\"id\":1}//",
        "{}{}",
        "\u{feff}{}",
        &valid[..valid.len() - 1],
        &format!("{valid}x"),
        &format!("{}{}", "[".repeat(65), "]".repeat(65)),
    ] {
        assert_rejected(accept(HEADERS, text), 400, -32_700, None);
    }
    assert_rejected(accept(HEADERS, b"{\"id\":\"\xff\"}"), 400, -32_700, None);
    assert_rejected(accept(HEADERS, b"{\0}\0"), 400, -32_700, None);
}

#[test]
fn what_is_not_one_request_is_an_invalid_request() {
    let valid = body("1", "{}");
    for (text, id) in [
        ("[]".to_owned(), None),
        (format!("[{valid}]"), None),
        ("null".to_owned(), None),
        ("\"x\"".to_owned(), None),
        ("123".to_owned(), None),
        ("{}".to_owned(), None),
        (valid.replace("\"jsonrpc\":\"2.0\",", ""), Some("1")),
        (valid.replace("\"2.0\"", "\"1.0\""), Some("1")),
        (valid.replace("\"2.0\"", "2.0"), Some("1")),
        (valid.replace("\"method\"", "\"Method\""), Some("1")),
        (valid.replace("\"subscriptions/listen\"", "1"), Some("1")),
        (
            valid.replace("\"id\":1", "\"id\":1,\"result\":{}"),
            Some("1"),
        ),
        (
            valid.replace("\"id\":1", "\"id\":1,\"error\":{}"),
            Some("1"),
        ),
        (
            valid.replace("\"id\":1", "\"id\":1,\"method\":\"subscriptions/listen\""),
            Some("1"),
        ),
        (valid.replace("\"id\":1", "\"id\":1,\"id\":1"), None),
        (valid.replace("\"id\":1", "\"id\":1,\"\\u0069d\":2"), None),
    ] {
        assert_rejected(accept(HEADERS, text), 400, -32_600, id);
    }
}

#[test]
fn an_id_that_is_none_is_an_invalid_request_without_id() {
    for id in [
        "null",
        "true",
        "{}",
        "[1]",
        "1.5",
        &format!("\"{}\"", "x".repeat(257)),
    ] {
        assert_rejected(accept(HEADERS, body(id, "{}")), 400, -32_600, None);
    }
    assert_rejected(
        accept(HEADERS, body("1", "{}").replace("\"id\":1,", "")),
        400,
        -32_600,
        None,
    );
    assert_accepted(
        accept(HEADERS, body(&format!("\"{}\"", "x".repeat(256)), "{}")),
        &format!("\"{}\"", "x".repeat(256)),
        "{}",
    );
}

#[test]
fn headers_that_do_not_say_what_the_body_says_are_a_mismatch() {
    let without = |name: &str| {
        HEADERS
            .lines()
            .filter(|line| !line.starts_with(name))
            .collect::<Vec<_>>()
            .join("\n")
    };
    for headers in [
        without("MCP-Protocol-Version"),
        without("Mcp-Method"),
        HEADERS.replace("2026-07-28", "2025-11-25"),
        HEADERS.replace(
            "Mcp-Method: subscriptions/listen",
            "Mcp-Method: Subscriptions/listen",
        ),
        HEADERS.replace("Mcp-Method: subscriptions/listen", "Mcp-Method: tools/list"),
        HEADERS.replace(
            "Mcp-Method: subscriptions/listen",
            "Mcp-Method: =?base64?c3Vic2NyaXB0aW9ucy9saXN0ZW4=?=",
        ),
    ] {
        assert_rejected(accept(&headers, body("1", "{}")), 400, -32_020, Some("1"));
    }
    let unsupported = body("1", "{}").replace("2026-07-28", "v999.0.0");
    assert_rejected(accept(HEADERS, unsupported), 400, -32_020, Some("1"));
    let other = body("1", "{}").replace("subscriptions/listen", "tools/list");
    assert_rejected(accept(HEADERS, other), 400, -32_020, Some("1"));
}

#[test]
fn a_version_that_is_not_served_is_named_beside_the_one_that_is() {
    let verdict = accept(
        &HEADERS.replace("2026-07-28", "2099-01-01"),
        body("\"a\"", "{}").replace("2026-07-28", "2099-01-01"),
    );
    let Verdict::Rejected(rejection) = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(
        message::error(&rejection),
        r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2099-01-01"}}}"#
    );
    assert_eq!(rejection.reason.status(), 400);
}

#[test]
fn a_body_that_names_an_earlier_revision_is_refused() {
    let earlier = body("1", "{}").replace("2026-07-28", "2025-11-25");
    assert_rejected(accept(HEADERS, &earlier), 400, -32_020, Some("1"));
    let headers = HEADERS.replace("2026-07-28", "2025-11-25");
    assert_rejected(accept(&headers, &earlier), 400, -32_022, Some("1"));
}

#[test]
fn parameters_that_are_not_those_of_a_listen_are_invalid() {
    let valid = body("1", "{}");
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}"#.to_string(),
        r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":[]}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":1,"notifications":{}}}"#.to_owned(),
        valid.replace("\"2026-07-28\"", "20260728"),
        valid.replace("\"io.modelcontextprotocol/clientCapabilities\":{}", "\"x\":1"),
        valid.replace("clientCapabilities\":{}", "clientCapabilities\":[]"),
        valid.replace("\"_meta\":{", "\"_meta\":{\"io.modelcontextprotocol/clientInfo\":\"x\","),
        valid.replace("\"_meta\":{", "\"_meta\":{\"io.modelcontextprotocol/clientInfo\":{\"name\":1,\"version\":\"1\"},"),
        valid.replace(",\"notifications\":{}", ""),
        body("1", "null"),
        body("1", "[]"),
        body("1", "\"x\""),
        body("1", r#"{"toolsListChanged":"true"}"#),
        body("1", r#"{"toolsListChanged":1}"#),
        body("1", r#"{"toolsListChanged":null}"#),
        body("1", r#"{"resourceSubscriptions":"x"}"#),
        body("1", r#"{"resourceSubscriptions":[1]}"#),
        body("1", r#"{"resourceSubscriptions":[null]}"#),
        body("1", r#"{"resourceSubscriptions":[["x"]]}"#),
        body("1", r#"{"resourceSubscriptions":[""]}"#),
        body("1", r#"{"resourceSubscriptions":["a\r"]}"#),
        body("1", r#"{"resourceSubscriptions":["a\n"]}"#),
        body("1", r#"{"resourceSubscriptions":["a\u0000"]}"#),
        body("1", r#"{"taskIds":"x"}"#),
        body("1", r#"{"taskIds":[""]}"#),
        body("1", r#"{"taskIds":["a\r"]}"#),
    ] {
        assert_rejected(accept(HEADERS, text), 400, -32_602, Some("1"));
    }
}

#[test]
fn a_client_that_names_itself_properly_is_accepted() {
    let named = body("1", "{}").replace(
        "\"_meta\":{",
        "\"_meta\":{\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\",\"title\":\"C\"},",
    );
    assert_accepted(accept(HEADERS, named), "1", "{}");
}

#[test]
fn what_exceeds_a_limit_names_the_limit() {
    let uris: Vec<String> = (0..257).map(|place| format!("\"u{place}\"")).collect();
    let tasks: Vec<String> = (0..257).map(|place| format!("\"t{place}\"")).collect();
    for (filter, limit) in [
        (format!(r#"{{"taskIds":[{}]}}"#, tasks.join(",")), 256),
        (format!(r#"{{"taskIds":["{}"]}}"#, "x".repeat(2_049)), 2_048),
        (
            format!(r#"{{"resourceSubscriptions":[{}]}}"#, uris.join(",")),
            256,
        ),
        (
            format!(r#"{{"resourceSubscriptions":["{}"]}}"#, "x".repeat(2_049)),
            2_048,
        ),
    ] {
        let Verdict::Rejected(rejection) = accept(HEADERS, body("1", &filter)) else {
            panic!("accepted");
        };
        assert_eq!(rejection.reason.json_rpc_code(), -32_602);
        assert!(message::error(&rejection).contains(&format!("\"data\":{{\"limit\":{limit}}}")));
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
