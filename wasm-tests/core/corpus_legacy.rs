//! The wire files of the revisions with sessions, run against the core. The glue runs the same
//! files in Node and on workerd.

use std::collections::BTreeMap;

use mcp_listen::{capabilities::Capabilities, event::ServerEvent, http::Headers};
use serde::Deserialize;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    body::{Body, Text},
    corpus_case::{Options, check_error, text},
    session_host::{Served, SessionHost},
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    session: bool,
    #[serde(default)]
    options: Options,
    #[serde(default = "behind")]
    behind: String,
    #[serde(default)]
    not_on: BTreeMap<String, String>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    #[serde(default = "post")]
    method: String,
    headers: Option<Vec<(String, String)>>,
    body: Option<Body>,
    publish: Option<serde_json::Value>,
    #[serde(default)]
    expect: Expect,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Expect {
    status: Option<u16>,
    code: Option<i32>,
    id: Option<Text>,
    data: Option<String>,
    message: Option<String>,
    body: Option<Text>,
    session: bool,
    events: Vec<String>,
    end: bool,
    /// Fields that the glue removes before it forwards a request.
    dropped: Vec<String>,
}

#[test]
fn sessions_that_begin() {
    run(include_str!("../corpus/2025-11-25/accept/initialize.json"));
}

#[test]
fn sessions_of_earlier_revisions_that_begin() {
    run(include_str!("../corpus/2025-06-18/accept/initialize.json"));
    run(include_str!("../corpus/2025-03-26/accept/initialize.json"));
}

#[test]
fn messages_that_get_a_response() {
    run(include_str!("../corpus/2025-11-25/accept/messages.json"));
}

#[test]
fn messages_without_a_version_in_the_header() {
    run(include_str!("../corpus/2025-03-26/accept/header.json"));
}

#[test]
fn resources_that_are_watched() {
    run(include_str!("../corpus/2025-11-25/accept/subscribe.json"));
}

#[test]
fn streams_of_sessions() {
    run(include_str!("../corpus/2025-11-25/accept/stream.json"));
}

#[test]
fn refused_batches() {
    run(include_str!("../corpus/2025-03-26/reject/batch.json"));
}

#[test]
fn refused_messages() {
    run(include_str!("../corpus/2025-11-25/reject/messages.json"));
}

#[test]
fn refused_pages() {
    run(include_str!("../corpus/2025-11-25/reject/origin.json"));
}

#[test]
fn refused_sessions() {
    run(include_str!("../corpus/2025-11-25/reject/session.json"));
}

#[test]
fn refused_streams() {
    run(include_str!("../corpus/2025-11-25/reject/stream.json"));
}

#[test]
fn refused_subscriptions() {
    run(include_str!("../corpus/2025-11-25/reject/subscribe.json"));
}

#[test]
fn refused_versions() {
    run(include_str!("../corpus/2025-11-25/reject/version.json"));
}

#[test]
fn requests_of_2026_that_pass() {
    run(include_str!("../corpus/2025-11-25/pass/enveloped.json"));
}

#[test]
fn requests_that_pass() {
    run(include_str!("../corpus/2025-11-25/pass/requests.json"));
}

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn every_file_of_the_earlier_revisions_is_tested() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/wasm-tests/corpus");
    for revision in mcp_listen::legacy::VERSIONS {
        for kind in ["accept", "reject", "pass"] {
            let files = std::fs::read_dir(format!("{root}/{revision}/{kind}"));
            for file in files.into_iter().flatten() {
                let name = file.unwrap().file_name().into_string().unwrap();
                let included = format!("(include_str!(\"../corpus/{revision}/{kind}/{name}\"))");
                assert!(
                    include_str!("corpus_legacy.rs").contains(&included),
                    "{name}"
                );
            }
        }
    }
}

fn run(file: &str) {
    let cases: Vec<Case> = serde_json::from_str(file).unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        if let Some(reason) = case.not_on.get("core") {
            assert!(!reason.is_empty(), "{}", case.name);
            continue;
        }
        let capabilities = case.options.capabilities.unwrap_or(Capabilities::ALL);
        let limits = case.options.limits.clone();
        let mut host = SessionHost::new(limits, capabilities, case.behind.clone());
        let mut event_id = String::new();
        for step in &case.steps {
            step.take(&case, &mut host, &mut event_id);
        }
    }
}

impl Step {
    fn take(&self, case: &Case, host: &mut SessionHost, event_id: &mut String) {
        let name = &case.name;
        if let Some(event) = &self.publish {
            host.publish(&ServerEvent::from_json(&event.to_string()).unwrap());
        } else {
            let lines = self.lines(case, event_id);
            let body = self.body.as_ref().map(Body::bytes).unwrap_or_default();
            let served = host.serve(&self.method, &Headers::new(&lines), &body);
            self.expect.check(name, served);
        }
        for wanted in &self.expect.events {
            let event = host
                .next_event()
                .unwrap_or_else(|| panic!("{name}: {wanted}"));
            let id = event
                .lines()
                .next()
                .and_then(|line| line.strip_prefix("id: "));
            if let Some(id) = id {
                id.clone_into(event_id);
            }
            check_event(name, wanted, &event);
        }
        if self.expect.end {
            assert!(host.has_ended(), "{name}");
        }
    }

    fn lines(&self, case: &Case, event_id: &str) -> String {
        let mut fields = self.headers.clone().unwrap_or_else(|| {
            let fields = HEADERS.iter().filter(|_| case.session).chain(&JSON);
            fields
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .collect()
        });
        for (_, value) in &mut fields {
            *value = value
                .replace("{session}", "session")
                .replace("{event}", event_id);
        }
        let lines = fields
            .iter()
            .map(|(name, value)| format!("{name}: {value}\n"));
        lines.collect()
    }
}

impl Expect {
    fn check(&self, name: &str, served: Served) {
        let (status, body) = match served {
            Served::Passed => return assert_eq!(self.status, None, "{name} passed"),
            Served::Stream => return assert!(!self.events.is_empty(), "{name} is a stream"),
            Served::Text(status, body) => (status, body),
        };
        assert_eq!(Some(status), self.status, "{name}: {body}");
        check_words(name, &body);
        let begins = body.contains("\"result\":{\"protocolVersion\"");
        assert_eq!(begins, self.session, "{name}: {body}");
        match (self.code, &self.message) {
            (None, _) => assert_eq!(Some(body), text(self.body.as_ref()), "{name}"),
            (Some(code), message) => {
                check_error(name, &body, code, self.id.as_ref(), self.data.as_deref());
                let message = message.as_deref().unwrap_or_default();
                assert!(body.contains(message), "{name}: {body}");
            }
        }
    }
}

/// In an expected text, `*` matches any event id.
fn check_event(name: &str, wanted: &str, event: &str) {
    check_words(name, event);
    let Some(wanted) = wanted.strip_prefix("id: *\n") else {
        return assert_eq!(event, wanted, "{name}");
    };
    let (id, rest) = event.split_once('\n').unwrap();
    let id = id.strip_prefix("id: ").unwrap();
    assert!(
        !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic()),
        "{name}: {id}"
    );
    assert_eq!(rest, wanted, "{name}");
}

/// No member of 2026-07-28 appears in a session.
fn check_words(name: &str, text: &str) {
    for word in [
        "io.modelcontextprotocol/",
        "resultType",
        "ttlMs",
        "cacheScope",
    ] {
        assert!(!text.contains(word), "{name}: {text}");
    }
}

fn post() -> String {
    "POST".to_owned()
}

fn behind() -> String {
    r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"behind","version":"1.0.0"}}}"#.to_owned()
}

/// The request of a client in a session.
const HEADERS: [(&str, &str); 2] = [
    ("Mcp-Session-Id", "{session}"),
    ("MCP-Protocol-Version", "2025-11-25"),
];
const JSON: [(&str, &str); 2] = [
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
];
