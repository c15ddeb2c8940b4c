//! Which revision a server speaks, according to its response to `server/discover`.

use mcp_listen::{
    client::{
        Media,
        revision::{self, Revision, RevisionOutcome, Versions},
    },
    http::Headers,
    id::Ids,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const OURS: Versions<'static> = Versions::OURS;
/// The versions of a client that speaks a later revision too.
const LATER: Versions<'static> = Versions {
    modern: &["2027-01-01", "2026-07-28"],
    legacy: &["2025-11-25"],
};

fn modern() -> RevisionOutcome {
    RevisionOutcome::Settled(Revision::Modern("2026-07-28".into()))
}

fn legacy() -> RevisionOutcome {
    RevisionOutcome::Settled(Revision::Legacy)
}

fn over_http(status: u16, body: &str) -> RevisionOutcome {
    revision::of_response(
        (status, Media::Json),
        body.as_bytes(),
        &["2026-07-28"],
        OURS,
    )
}

fn over_stdio(line: &str) -> RevisionOutcome {
    revision::of_line(Some(line.as_bytes()), &["2026-07-28"], OURS)
}

fn discovered(versions: &str, server: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"mcp-listen:1","result":{{"resultType":"complete","supportedVersions":{versions},"capabilities":{{}},"_meta":{{"io.modelcontextprotocol/serverInfo":{server}}}}}}}"#
    )
}

fn error(code: i32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"mcp-listen:1","error":{{"code":{code},"message":"m"}}}}"#)
}

fn unsupported(versions: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"mcp-listen:1","error":{{"code":-32022,"message":"m","data":{{"supported":{versions},"requested":"x"}}}}}}"#
    )
}

#[test]
fn the_probe_has_the_version_that_it_asks_for() {
    let probe = revision::probe(&Ids::default().mint(), "2027-01-01", None);
    let header = |name: &str| {
        let field = probe.headers.iter().find(|(field, _)| *field == name);
        field.map(|(_, value)| value.as_str())
    };
    assert_eq!(probe.method, "POST");
    assert_eq!(header("Content-Type"), Some("application/json"));
    assert_eq!(header("MCP-Protocol-Version"), Some("2027-01-01"));
    assert_eq!(header("Mcp-Method"), Some("server/discover"));
    assert_eq!(
        header("Accept"),
        Some("application/json, text/event-stream")
    );
    let body = probe.body.unwrap();
    for part in [
        r#""id":"mcp-listen:1""#,
        r#""method":"server/discover""#,
        r#""io.modelcontextprotocol/protocolVersion":"2027-01-01""#,
        r#""io.modelcontextprotocol/clientCapabilities":{}"#,
    ] {
        assert!(body.contains(part), "{body}");
    }
}

#[test]
fn a_server_speaks_the_versions_that_it_lists() {
    let reported = discovered(r#"["2026-07-28"]"#, "{}");
    assert_eq!(over_http(200, &reported), modern());
    assert_eq!(over_stdio(&reported), modern());
    let stream = format!(": c\n\ndata: {reported}\n\n");
    let response = (200, Media::EventStream);
    let outcome = revision::of_response(response, stream.as_bytes(), &["2026-07-28"], OURS);
    assert_eq!(outcome, modern());
    let reported = discovered(r#"["2025-11-25"]"#, "{}");
    assert_eq!(over_http(200, &reported), legacy());
    let reported = discovered(r#"["2030-01-01"]"#, "{}");
    let none = RevisionOutcome::NoCommonVersion(vec!["2030-01-01".to_owned()]);
    assert_eq!(over_http(200, &reported), none);
}

#[test]
fn the_server_name_is_ignored() {
    let names = [
        r#"{"name":"mcp-listen","version":"0.1.0"}"#,
        r#"{"name":"2025-11-25","version":"legacy"}"#,
        "{}",
        "null",
        "7",
    ];
    for name in names {
        let reported = discovered(r#"["2026-07-28"]"#, name);
        assert_eq!(over_http(200, &reported), modern(), "{name}");
        assert_eq!(over_stdio(&reported), modern(), "{name}");
        let reported = discovered(r#"["2025-11-25"]"#, name);
        assert_eq!(over_http(200, &reported), legacy(), "{name}");
    }
}

#[test]
fn an_error_code_of_this_revision_shows_this_revision() {
    for code in [-32_020, -32_021] {
        assert_eq!(over_http(400, &error(code)), modern(), "{code}");
        assert_eq!(over_stdio(&error(code)), modern(), "{code}");
    }
    assert_eq!(over_http(404, &error(-32_601)), modern());
}

#[test]
fn any_other_refusal_leads_to_initialize() {
    for body in ["", "garbage", "<h1>", "{}", "[]", r#"{"error":"no"}"#] {
        assert_eq!(over_http(400, body), legacy(), "{body}");
        assert_eq!(over_http(404, body), legacy(), "{body}");
    }
    for code in [-32_700, -32_600, -32_602, -32_603, -32_000, -32_001] {
        assert_eq!(over_http(400, &error(code)), legacy(), "{code}");
    }
    assert_eq!(over_http(200, &error(-32_601)), legacy(), "in band");
    assert_eq!(
        over_http(200, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        legacy()
    );
    let page = error(-32_022);
    let outcome =
        revision::of_response((400, Media::Other), page.as_bytes(), &["2026-07-28"], OURS);
    assert_eq!(outcome, legacy(), "what is not declared as JSON is none");
}

#[test]
fn a_server_failure_or_refused_caller_shows_nothing() {
    for status in [302, 401, 403, 408, 429, 500, 502, 503] {
        for body in ["", &error(-32_603), &error(-32_000)] {
            assert_eq!(
                over_http(status, body),
                RevisionOutcome::Unknown,
                "{status} {body}"
            );
        }
    }
    assert_eq!(revision::of_no_response(false), RevisionOutcome::Unknown);
    assert_eq!(
        revision::of_no_response(true),
        legacy(),
        "CORS may have kept it from a page"
    );
}

#[test]
fn over_stdio_any_other_error_or_silence_leads_to_initialize() {
    for line in [
        "",
        "garbage",
        "{}",
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    ] {
        assert_eq!(over_stdio(line), legacy(), "{line}");
    }
    for code in [-32_700, -32_600, -32_601, -32_602, -32_603, -32_000, 0, 1] {
        assert_eq!(over_stdio(&error(code)), legacy(), "{code}");
    }
    assert_eq!(revision::of_line(None, &["2026-07-28"], OURS), legacy());
}

#[test]
fn an_unsupported_version_is_retried_with_the_latest_common_one() {
    let refusal = unsupported(r#"["2026-07-28","2025-11-25"]"#);
    let retry = RevisionOutcome::Retry("2026-07-28".into());
    let json = (400, Media::Json);
    let tried = ["2027-01-01"];
    assert_eq!(
        revision::of_response(json, refusal.as_bytes(), &tried, LATER),
        retry
    );
    assert_eq!(
        revision::of_line(Some(refusal.as_bytes()), &tried, LATER),
        retry
    );
    let reported = discovered(r#"["2026-07-28"]"#, "{}");
    let response = (200, Media::Json);
    assert_eq!(
        revision::of_response(response, reported.as_bytes(), &tried, LATER),
        retry
    );
}

#[test]
fn a_version_that_is_refused_but_listed_is_tried_twice() {
    let refusal = unsupported(r#"["2026-07-28"]"#);
    let outcome =
        |tried: &[&str]| revision::of_response((400, Media::Json), refusal.as_bytes(), tried, OURS);
    assert_eq!(
        outcome(&["2026-07-28"]),
        RevisionOutcome::Retry("2026-07-28".into())
    );
    let none = RevisionOutcome::NoCommonVersion(vec!["2026-07-28".to_owned()]);
    assert_eq!(outcome(&["2026-07-28", "2026-07-28"]), none);
}

#[test]
fn no_version_is_tried_a_third_time() {
    let tried = ["2027-01-01", "2026-07-28", "2027-01-01", "2026-07-28"];
    let refusal = unsupported(r#"["2027-01-01","2026-07-28"]"#);
    let none = vec!["2027-01-01".to_owned(), "2026-07-28".to_owned()];
    assert_eq!(
        revision::of_response((400, Media::Json), refusal.as_bytes(), &tried, LATER),
        RevisionOutcome::NoCommonVersion(none)
    );
}

#[test]
fn without_a_common_modern_version_a_session_is_tried() {
    assert_eq!(
        over_http(400, &unsupported(r#"["2030-01-01","2025-06-18"]"#)),
        legacy()
    );
    let none = RevisionOutcome::NoCommonVersion(vec!["2030-01-01".to_owned()]);
    assert_eq!(over_http(400, &unsupported(r#"["2030-01-01"]"#)), none);
    assert_eq!(over_stdio(&unsupported(r#"["2030-01-01",7]"#)), none);
    let silent = RevisionOutcome::NoCommonVersion(vec![]);
    assert_eq!(over_http(400, &error(-32_022)), silent);
}

#[test]
fn the_media_type_is_read_from_the_content_type() {
    for (fields, media) in [
        ("content-type: application/json", Media::Json),
        ("Content-Type: Application/JSON; charset=utf-8", Media::Json),
        (
            "content-type: text/event-stream;charset=utf-8",
            Media::EventStream,
        ),
        ("content-type: application/json-seq", Media::Other),
        ("", Media::Other),
    ] {
        assert_eq!(
            mcp_listen::client::media_of(&Headers::new(fields)),
            media,
            "{fields}"
        );
    }
}
