use mcp_listen::{
    error::{Reason, Rejection},
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::RequestId,
    json, message,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_event, check, task, updated, uri};

fn id(raw: &str) -> RequestId {
    RequestId::from_raw(raw, 256).unwrap()
}

#[test]
fn the_acknowledgment_names_the_honored_filter() {
    let honored = SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("note://a"), uri("note://b")],
        ..SubscriptionFilter::default()
    };
    assert_eq!(
        message::acknowledged(&id("\"sub-1\""), &honored),
        r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub-1"},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["note://a","note://b"]}}}"#
    );
}

#[test]
fn notifications_carry_the_verbatim_id() {
    for raw in [
        "1",
        "\"1\"",
        "0",
        "\"\"",
        "12345678901234567890",
        "1.0",
        "\"\\u0041\"",
    ] {
        assert_eq!(
            message::notification(&id(raw), &updated("note://a")),
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{raw}}},"uri":"note://a"}}}}"#
            )
        );
    }
}

#[test]
fn the_notification_of_a_task_carries_its_whole_state() {
    let completed = task(
        r#"{"taskId":"t","status":"completed","createdAt":"2026-11-21T10:00:00Z","lastUpdatedAt":"2026-11-21T10:00:01Z","ttlMs":60000,"_meta":{"io.modelcontextprotocol/subscriptionId":"forged"},"result":{"content":[],"isError":false}}"#,
    );
    assert_eq!(
        message::notification(&id("\"s\""), &completed),
        r#"{"jsonrpc":"2.0","method":"notifications/tasks","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"},"taskId":"t","status":"completed","createdAt":"2026-11-21T10:00:00Z","lastUpdatedAt":"2026-11-21T10:00:01Z","ttlMs":60000,"result":{"content":[],"isError":false}}}"#
    );
}

#[test]
fn each_event_has_its_method() {
    for (event, method) in [
        (
            ServerEvent::ToolsListChanged,
            "notifications/tools/list_changed",
        ),
        (
            ServerEvent::PromptsListChanged,
            "notifications/prompts/list_changed",
        ),
        (
            ServerEvent::ResourcesListChanged,
            "notifications/resources/list_changed",
        ),
        (
            ServerEvent::EventsListChanged,
            "notifications/events/list_changed",
        ),
        (updated("x"), "notifications/resources/updated"),
        (
            task(r#"{"taskId":"t","status":"working"}"#),
            "notifications/tasks",
        ),
    ] {
        let text = message::notification(&id("1"), &event);
        let document = json::read(text.as_bytes(), 64).unwrap();
        assert_eq!(document.root.get("method").unwrap().as_str(), Some(method));
    }
}

#[test]
fn no_event_can_forge_a_frame() {
    check(any_event(), |event| {
        let text = message::notification(&id("\"\\n\""), &event);
        assert!(!text.contains(['\n', '\r']));
        let read = json::read(text.as_bytes(), 64).unwrap();
        assert!(!read.has_duplicate_key);
    });
}

#[test]
fn the_result_is_complete_and_names_a_known_server() {
    assert_eq!(
        message::listen_result(&id("7"), None),
        r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#
    );
    assert_eq!(
        message::listen_result(&id("7"), Some(r#"{"name":"n","version":"v"}"#)),
        r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7,"io.modelcontextprotocol/serverInfo":{"name":"n","version":"v"}}}}"#
    );
}

#[test]
fn errors_carry_code_data_and_id() {
    for (reason, id, text) in [
        (
            Reason::ParseError,
            None,
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"The body is not JSON"}}"#,
        ),
        (
            Reason::UnsupportedVersion {
                requested: "2099-01-01\n".into(),
            },
            Some(id("3")),
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2099-01-01\n"}}}"#,
        ),
        (
            Reason::LimitExceeded {
                what: "Too many resource URIs",
                limit: 256,
            },
            Some(id("\"a\"")),
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"Too many resource URIs","data":{"limit":256}}}"#,
        ),
        (
            Reason::MissingExtension("io.modelcontextprotocol/tasks"),
            Some(id("5")),
            r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32021,"message":"The filter requires an extension that the client has not declared","data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}"#,
        ),
        (
            Reason::TooManyStreams,
            Some(id("0")),
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"Subscription limit reached"}}"#,
        ),
    ] {
        assert_eq!(message::error(&Rejection::new(reason, id)), text);
    }
}

/// A reason with the status, the code, the name and the `Retry-After` of its response.
type Row = (Reason, u16, i32, &'static str, Option<u32>);

/// Every reason.
fn reasons() -> Vec<Row> {
    [of_requests(), of_servers()].concat()
}

fn of_requests() -> Vec<Row> {
    use Reason as R;
    let requested = String::new();
    let (what, limit) = ("x", 1);
    vec![
        (
            R::MethodNotAllowed,
            405,
            -32_600,
            "method-not-allowed",
            None,
        ),
        (R::ForbiddenHost, 403, -32_600, "forbidden-host", None),
        (R::ForbiddenOrigin, 403, -32_600, "forbidden-origin", None),
        (
            R::UnsupportedMediaType,
            415,
            -32_600,
            "unsupported-media-type",
            None,
        ),
        (R::NotAcceptable, 406, -32_600, "not-acceptable", None),
        (R::BodyTooLarge, 413, -32_600, "body-too-large", None),
        (R::ParseError, 400, -32_700, "parse-error", None),
        (
            R::InvalidRequest("x"),
            400,
            -32_600,
            "invalid-request",
            None,
        ),
        (
            R::HeaderMismatch("x"),
            400,
            -32_020,
            "header-mismatch",
            None,
        ),
        (
            R::UnsupportedVersion { requested },
            400,
            -32_022,
            "unsupported-version",
            None,
        ),
        (
            R::MissingExtension("x"),
            400,
            -32_021,
            "missing-extension",
            None,
        ),
        (R::InvalidParams("x"), 400, -32_602, "invalid-params", None),
        (
            R::LimitExceeded { what, limit },
            400,
            -32_602,
            "limit-exceeded",
            None,
        ),
    ]
}

fn of_servers() -> Vec<Row> {
    use Reason as R;
    vec![
        (R::MethodNotFound, 404, -32_601, "method-not-found", None),
        (R::SessionNotFound, 404, -32_001, "session-not-found", None),
        (R::StreamTaken, 409, -32_600, "stream-taken", None),
        (
            R::TooManySessions,
            503,
            -32_603,
            "too-many-sessions",
            Some(2),
        ),
        (R::Unauthorized, 401, -32_600, "unauthorized", None),
        (R::Forbidden, 403, -32_600, "forbidden", None),
        (R::TooManyStreams, 503, -32_603, "too-many-streams", Some(2)),
        (
            R::TooManyOfCaller,
            429,
            -32_603,
            "too-many-streams-of-caller",
            Some(2),
        ),
        (
            R::AuthorizerFailed,
            503,
            -32_603,
            "authorizer-failed",
            Some(2),
        ),
        (R::Unavailable, 503, -32_603, "unavailable", Some(2)),
        (R::Closing, 503, -32_603, "closing", Some(2)),
        (R::BadGateway, 502, -32_603, "bad-gateway", Some(2)),
        (R::GatewayTimeout, 504, -32_603, "gateway-timeout", Some(2)),
        (R::UnknownServer, 404, -32_600, "unknown-server", None),
        (R::BodyTimeout, 408, -32_600, "body-timeout", None),
        (R::HeadersTooLarge, 431, -32_600, "headers-too-large", None),
    ]
}

/// The variants of `Reason` in the order of its source. The enum is non-exhaustive, so no match in
/// another crate covers all of them.
fn variants() -> Vec<&'static str> {
    let source = include_str!("../../src/vocabulary/error.rs");
    let (_, body) = source.split_once("pub enum Reason {\n").unwrap();
    let (body, _) = body.split_once("\n}\n").unwrap();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
    names.map(named).collect()
}

fn named(text: &str) -> &str {
    text.split(|letter: char| !letter.is_ascii_alphanumeric())
        .next()
        .unwrap()
}

#[test]
fn every_reason_has_a_status_a_code_and_a_name() {
    let mut tested = Vec::new();
    for (reason, status, code, name, retry_after) in reasons() {
        assert_eq!(reason.status(), status, "{name}");
        assert_eq!(reason.json_rpc_code(), code, "{name}");
        assert_eq!(reason.code(), name);
        assert_eq!(reason.retry_after(), retry_after, "{name}");
        tested.push(named(&format!("{reason:?}")).to_owned());
    }
    assert_eq!(tested, variants());
}

#[test]
fn every_error_code_is_defined_by_the_specification() {
    const DEFINED: [i32; 8] = [
        -32_700, -32_600, -32_601, -32_602, -32_603, -32_020, -32_021, -32_022,
    ];
    for (reason, ..) in reasons() {
        // Only earlier revisions have sessions, and their SDKs respond with this code.
        let is_of_sessions = reason == Reason::SessionNotFound;
        let code = reason.json_rpc_code();
        assert_eq!(DEFINED.contains(&code), !is_of_sessions, "{reason:?}");
    }
}

#[test]
fn the_discover_request_is_valid() {
    let text = message::discover_request(message::DISCOVER_ID);
    let document = json::read(text.as_bytes(), 64).unwrap();
    assert!(!document.has_duplicate_key);
    let meta = document.root.get("params").unwrap().get("_meta").unwrap();
    assert_eq!(
        meta.get("io.modelcontextprotocol/protocolVersion")
            .unwrap()
            .as_str(),
        Some("2026-07-28")
    );
    assert!(
        meta.get("io.modelcontextprotocol/clientCapabilities")
            .unwrap()
            .as_object()
            .is_some()
    );
}
