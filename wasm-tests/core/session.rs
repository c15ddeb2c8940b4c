//! The client side of a session of 2025.

use mcp_listen::{
    capabilities::Capabilities,
    client::{
        HttpRequest,
        session::{self, ClientSession, SessionError},
    },
    event::ServerEvent,
    http::Headers,
    id::RequestId,
    legacy::{self, LegacyCall, LegacyOutcome},
    limits::Limits,
    message,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{any_event, check, id, uri},
    subscription::lines,
};

const JSON: &str = "content-type: application/json\nmcp-session-id: s-1";
const RESPONSE: &str = r#"{"jsonrpc":"2.0","id":"mcp-listen:1","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"n","version":"1"}}}"#;

fn read(status: u16, fields: &str, body: &str) -> Result<ClientSession, SessionError> {
    ClientSession::from_response(status, &Headers::new(fields), body.as_bytes())
}

fn session() -> ClientSession {
    read(200, JSON, RESPONSE).unwrap()
}

/// Returns how our server classifies a request.
fn classified(request: &HttpRequest) -> legacy::LegacyRequest {
    let lines = lines(&request.headers);
    let body = request.body.as_deref().unwrap_or_default().as_bytes();
    match legacy::classify(
        request.method,
        &Headers::new(&lines),
        body,
        &Limits::default(),
    ) {
        LegacyOutcome::Legacy(request) => request,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn initialize_names_the_latest_version_and_no_session() {
    let own = RequestId::from_text("mcp-listen:1");
    let request = session::open(&own, Some(r#"{"name":"n","version":"1"}"#));
    assert_eq!(
        request.body.as_deref(),
        Some(
            r#"{"jsonrpc":"2.0","id":"mcp-listen:1","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}"#
        )
    );
    let classified = classified(&request);
    assert_eq!(
        (classified.call, classified.session),
        (LegacyCall::Initialize, None)
    );
    let names: Vec<&str> = request.headers.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["Content-Type", "Accept"]);
}

#[test]
fn a_valid_response_establishes_a_session() {
    let established = read(200, JSON, RESPONSE).unwrap();
    assert_eq!(established.id.as_deref(), Some("s-1"));
    assert_eq!(established.version, "2025-06-18");
    let capabilities = Capabilities {
        tools_list_changed: true,
        ..Capabilities::default()
    };
    assert_eq!(established.capabilities, capabilities);
    let stream = format!("id: 1\ndata:\n\nevent: message\ndata: {RESPONSE}\n\n");
    assert_eq!(
        read(
            200,
            &JSON.replace("application/json", "text/event-stream"),
            &stream
        ),
        Ok(established)
    );
    assert_eq!(
        read(200, "", RESPONSE).unwrap().id,
        None,
        "a server may keep none"
    );
}

#[test]
fn an_invalid_response_has_an_error() {
    let of = |version: &str| RESPONSE.replace("2025-06-18", version);
    let code = |read: Result<ClientSession, SessionError>| read.unwrap_err().code();
    assert_eq!(
        code(read(200, JSON, &of("2026-07-28"))),
        "unsupported-version"
    );
    assert_eq!(
        code(read(200, JSON, &of("2024-11-05"))),
        "unsupported-version"
    );
    assert_eq!(code(read(200, JSON, "")), "invalid-response");
    assert_eq!(
        code(read(200, JSON, r#"{"result":{}}"#)),
        "invalid-response"
    );
    assert_eq!(
        code(read(200, "mcp-session-id: s 1", RESPONSE)),
        "invalid-session-id"
    );
    let error = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"m"}}"#;
    for (status, body, number) in [
        (400, error, Some(-32_000)),
        (503, "", None),
        (401, RESPONSE, None),
    ] {
        let Err(SessionError::Refused(refusal)) = read(status, JSON, body) else {
            panic!("{status}");
        };
        assert_eq!((refusal.status, refusal.code), (status, number));
    }
}

#[test]
fn our_server_accepts_every_request_of_a_session() {
    let session = session();
    let own = RequestId::from_text("mcp-listen:2");
    for (request, call) in [
        (session.initialized(), LegacyCall::Initialized),
        (
            session.subscribe(&own, "note://\"a\""),
            LegacyCall::Subscribe(uri("note://\"a\"")),
        ),
        (
            session.unsubscribe(&own, "b"),
            LegacyCall::Unsubscribe(uri("b")),
        ),
        (
            session.stream(None),
            LegacyCall::Open {
                last_event_id: None,
            },
        ),
        (
            session.stream(Some("7-e")),
            LegacyCall::Open {
                last_event_id: Some("7-e".into()),
            },
        ),
        (session.end().unwrap(), LegacyCall::End),
    ] {
        let classified = classified(&request);
        assert_eq!(classified.call, call);
        assert_eq!(classified.session.as_deref(), Some("s-1"));
        assert_eq!(&*classified.version, "2025-06-18");
    }
}

#[test]
fn an_event_id_that_no_header_can_carry_is_omitted() {
    for id in ["", "a\tb", "a b", "é", "a\u{7f}"] {
        assert_eq!(session().stream(Some(id)), session().stream(None), "{id:?}");
    }
}

#[test]
fn a_session_without_an_id_is_not_ended() {
    let session = read(200, "", RESPONSE).unwrap();
    assert_eq!(session.end(), None);
    assert!(
        session
            .initialized()
            .headers
            .iter()
            .all(|(name, _)| *name != "Mcp-Session-Id")
    );
}

#[test]
fn changes_on_a_session_stream_are_read() {
    let limits = Limits::default();
    check(any_event(), |event| {
        let message = message::plain_notification(&event);
        let read = session::event_of(message.as_bytes(), &limits);
        let is_task = matches!(event, ServerEvent::TaskStatus { .. });
        assert_eq!(
            read,
            (!is_task).then_some(event),
            "sessions have no task states"
        );
    });
    for message in [
        "",
        "{}",
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"notifications/tools/list_changed"}"#,
        &message::acknowledged(&id("1"), &crate::client::tools()),
    ] {
        assert_eq!(
            session::event_of(message.as_bytes(), &limits),
            None,
            "{message}"
        );
    }
}

#[test]
fn no_client_writes_a_batch_or_a_response() {
    let own = RequestId::from_text("mcp-listen:1");
    let session = session();
    let posted = [
        session::open(&own, None),
        session.initialized(),
        session.subscribe(&own, "a"),
        session.unsubscribe(&own, "a"),
        mcp_listen::client::revision::probe(&own, "2026-07-28", None),
    ];
    let bodies = posted.into_iter().map(|request| request.body.unwrap());
    let listen = message::listen_request(&own, &crate::client::tools(), None);
    for body in bodies.chain([listen, message::cancelled(&own)]) {
        let message: serde_json::Value = serde_json::from_str(&body).unwrap();
        let object = message.as_object().expect("one message");
        assert!(object["method"].is_string(), "{body}");
        assert!(
            !object.contains_key("result") && !object.contains_key("error"),
            "{body}"
        );
    }
}
