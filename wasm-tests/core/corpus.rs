//! The wire files of the corpus, run against the core. The glue runs the same files in Node and on
//! workerd.

use std::collections::BTreeMap;

use mcp_listen::{
    capabilities::Capabilities,
    error::{Reason, Rejection},
    http::{Headers, Policy, Screening},
    legacy,
    listen::{self, Classified, ListenOutcome},
    message,
};
use serde::Deserialize;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    body::{Body, Text},
    corpus_case::{Options, Principal, check_error, text},
    subscription::lines,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default = "post")]
    method: String,
    #[serde(default = "localhost")]
    url: String,
    headers: Option<Vec<(String, String)>>,
    body: Option<Body>,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    not_on: BTreeMap<String, String>,
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
    ack: Option<Text>,
    headers: BTreeMap<String, Option<String>>,
    /// Fields that the glue removes before it forwards a request.
    dropped: Vec<String>,
}

#[test]
fn accepted_filters() {
    run(include_str!("../corpus/2026-07-28/accept/filters.json"));
}

#[test]
fn accepted_headers() {
    run(include_str!("../corpus/2026-07-28/accept/headers.json"));
}

#[test]
fn accepted_ids() {
    run(include_str!("../corpus/2026-07-28/accept/ids.json"));
}

#[test]
fn accepted_members() {
    run(include_str!("../corpus/2026-07-28/accept/members.json"));
}

#[test]
fn accepted_hosts_and_origins() {
    run(include_str!("../corpus/2026-07-28/accept/policy.json"));
}

#[test]
fn preflights_that_get_a_response() {
    run(include_str!("../corpus/2026-07-28/accept/preflight.json"));
}

#[test]
fn refused_by_headers_against_the_body() {
    run(include_str!("../corpus/2026-07-28/reject/headers.json"));
}

#[test]
fn refused_by_http() {
    run(include_str!("../corpus/2026-07-28/reject/http.json"));
}

#[test]
fn refused_ids() {
    run(include_str!("../corpus/2026-07-28/reject/ids.json"));
}

#[test]
fn refused_json() {
    run(include_str!("../corpus/2026-07-28/reject/json.json"));
}

#[test]
fn refused_by_limits() {
    run(include_str!("../corpus/2026-07-28/reject/limits.json"));
}

#[test]
fn refused_by_the_first_check_that_fails() {
    run(include_str!("../corpus/2026-07-28/reject/order.json"));
}

#[test]
fn refused_params() {
    run(include_str!("../corpus/2026-07-28/reject/params.json"));
}

#[test]
fn refused_hosts_and_origins() {
    run(include_str!("../corpus/2026-07-28/reject/policy.json"));
}

#[test]
fn refused_shapes() {
    run(include_str!("../corpus/2026-07-28/reject/shape.json"));
}

#[test]
fn refused_versions() {
    run(include_str!("../corpus/2026-07-28/reject/version.json"));
}

#[test]
fn passed_on() {
    run(include_str!("../corpus/2026-07-28/pass/requests.json"));
}

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn every_file_of_the_corpus_is_tested() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/wasm-tests/corpus/2026-07-28");
    for kind in ["accept", "reject", "pass"] {
        for file in std::fs::read_dir(format!("{root}/{kind}")).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let included = format!("(include_str!(\"../corpus/2026-07-28/{kind}/{name}\"))");
            assert!(include_str!("corpus.rs").contains(&included), "{name}");
        }
    }
}

fn run(file: &str) {
    let cases: Vec<Case> = serde_json::from_str(file).unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        assert!(!case.not_on.contains_key("core"), "{}", case.name);
        let fields = case.headers.as_ref();
        let lines = fields.map_or_else(|| HEADERS.join("\n"), |fields| lines(fields));
        let headers = Headers::new(&lines);
        let origins = case.options.allowed_origins.join("\n");
        let hosts = case
            .options
            .allowed_hosts
            .as_ref()
            .map(|hosts| hosts.join("\n"));
        let mut policy = Policy::new(&origins, hosts.as_deref()).unwrap();
        if case.options.legacy.as_deref() == Some("reject") {
            policy = policy.modern_only();
        }
        let screening = policy.screen(&case.method, &case.url, &headers);
        case.check_fields(&screening);
        match &screening {
            Screening::Preflight(_) => assert_eq!(case.expect.status, Some(204), "{}", case.name),
            Screening::Refused(reason, _) => {
                case.check_rejection(&Rejection::new(reason.clone(), None));
            }
            Screening::Passed(_) => case.check_outcome(&headers),
            other => panic!("not known: {other:?}"),
        }
    }
}

impl Case {
    /// Runs the steps of a host: the checks of HTTP alone, the caller, then everything else.
    /// Returns `None` for a request that is passed on.
    fn classify(&self, method: &str, headers: &Headers<'_>, body: &[u8]) -> Option<ListenOutcome> {
        let Options { limits, legacy, .. } = &self.options;
        match listen::classify(method, headers, body, limits) {
            Classified::Rejected(rejection) => Some(ListenOutcome::Rejected(rejection)),
            Classified::Unread => Some(self.named(|| listen::validate(headers, body, limits))),
            Classified::Read(outcome) => Some(self.named(|| outcome)),
            Classified::PassThrough if legacy.as_deref() == Some("sessions") => {
                self.classify_in_session(legacy::classify(method, headers, body, limits))
            }
            _ => None,
        }
    }

    /// No session exists that a case could name, so an id is refused before the caller is
    /// authenticated.
    fn classify_in_session(&self, outcome: legacy::LegacyOutcome) -> Option<ListenOutcome> {
        let unknown = |id| ListenOutcome::Rejected(Rejection::new(Reason::SessionNotFound, id));
        Some(match outcome {
            legacy::LegacyOutcome::Rejected(rejection) if rejection.reason.is_transport_level() => {
                ListenOutcome::Rejected(rejection)
            }
            legacy::LegacyOutcome::Rejected(_) if self.names_session() => unknown(None),
            legacy::LegacyOutcome::Rejected(rejection) => {
                self.named(|| ListenOutcome::Rejected(rejection))
            }
            legacy::LegacyOutcome::Legacy(request) if request.session.is_some() => {
                unknown(request.id)
            }
            legacy::LegacyOutcome::Legacy(request) if request.is_of_sessions() => {
                self.named(|| unknown(request.id))
            }
            _ => return None,
        })
    }

    fn names_session(&self) -> bool {
        let mut fields = self.headers.iter().flatten();
        fields.any(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"))
    }

    fn named(&self, then: impl FnOnce() -> ListenOutcome) -> ListenOutcome {
        let denial = self.options.principal.as_ref().and_then(Principal::denial);
        denial.map_or_else(then, |reason| {
            ListenOutcome::Rejected(Rejection::new(reason, None))
        })
    }

    fn check_outcome(&self, headers: &Headers<'_>) {
        let Self {
            name,
            method,
            expect,
            options,
            ..
        } = self;
        let body = self.body.as_ref().map(Body::bytes).unwrap_or_default();
        match self.classify(method, headers, &body) {
            Some(ListenOutcome::Accepted(accepted)) => {
                let offered = options.capabilities.unwrap_or(Capabilities::ALL);
                let honored = accepted.requested.honored(offered, None);
                assert_eq!(
                    Some(accepted.id.raw().to_owned()),
                    text(expect.id.as_ref()),
                    "{name}"
                );
                assert_eq!(Some(honored.to_json()), text(expect.ack.as_ref()), "{name}");
            }
            Some(ListenOutcome::Rejected(rejection)) => self.check_rejection(&rejection),
            Some(other) => panic!("not known: {other:?}"),
            None => {
                assert!(
                    expect.status.is_none() && expect.ack.is_none(),
                    "{name} passed"
                );
            }
        }
    }

    fn check_rejection(&self, rejection: &Rejection) {
        let Self { name, expect, .. } = self;
        assert_eq!(Some(rejection.reason.status()), expect.status, "{name}");
        let Some(code) = expect.code else { return };
        let response = message::error(rejection);
        check_error(
            name,
            &response,
            code,
            expect.id.as_ref(),
            expect.data.as_deref(),
        );
    }

    fn check_fields(&self, screening: &Screening) {
        for (name, value) in &self.expect.headers {
            let given = screening.fields().iter().find(|(field, _)| field == name);
            assert_eq!(
                given.map(|(_, value)| value),
                value.as_ref(),
                "{}: {name}",
                self.name
            );
        }
    }
}

fn post() -> String {
    "POST".to_owned()
}

fn localhost() -> String {
    "http://localhost/mcp".to_owned()
}

const HEADERS: [&str; 4] = [
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
    "MCP-Protocol-Version: 2026-07-28",
    "Mcp-Method: subscriptions/listen",
];
