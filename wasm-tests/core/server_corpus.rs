//! The responses of servers to a listen request, from the files of the corpus, and what the client
//! reports.

use mcp_listen::{
    client::{CloseReason, Subscription, SubscriptionOptions, SubscriptionOutput},
    clock::Millis,
    filter::SubscriptionFilter,
    http::Headers,
};
use serde::Deserialize;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    body::Body,
    subscription::{lines, own_id, watched},
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default = "event_stream")]
    headers: Vec<(String, String)>,
    body: Body,
    /// The body does not end: the server sends nothing for this long.
    silent_ms: Option<u64>,
    expect: Vec<Value>,
    retry_after_ms: Option<u64>,
}

#[test]
fn valid_streams_of_a_server() {
    run(include_str!(
        "../corpus/2026-07-28/server/accept/framing.json"
    ));
}

#[test]
fn valid_messages_of_a_server() {
    run(include_str!(
        "../corpus/2026-07-28/server/accept/messages.json"
    ));
}

#[test]
fn valid_json_responses_of_a_server() {
    run(include_str!("../corpus/2026-07-28/server/accept/json.json"));
}

#[test]
fn responses_that_open_nothing() {
    run(include_str!(
        "../corpus/2026-07-28/server/reject/responses.json"
    ));
}

#[test]
fn hostile_servers() {
    run(include_str!(
        "../corpus/2026-07-28/server/reject/hostile.json"
    ));
}

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn every_file_of_the_servers_corpus_is_tested() {
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/wasm-tests/corpus/2026-07-28/server"
    );
    for kind in ["accept", "reject"] {
        for file in std::fs::read_dir(format!("{root}/{kind}")).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let included = format!("\"../corpus/2026-07-28/server/{kind}/{name}\"");
            assert!(
                include_str!("server_corpus.rs").contains(&included),
                "{name}"
            );
        }
    }
}

/// Each response arrives at once and, because this must make no difference, in small pieces.
fn run(file: &str) {
    let cases: Vec<Case> = serde_json::from_str(file).unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let bytes = case.body.bytes();
        case.check([bytes.as_slice()].into_iter());
        case.check(bytes.chunks(if bytes.len() < 10_000 { 1 } else { 4_099 }));
    }
}

impl Case {
    fn check<'a>(&self, chunks: impl Iterator<Item = &'a [u8]>) {
        let requested = watched(&["note://a", "note://b"]);
        let mut subscription = Subscription::new(
            own_id(),
            requested,
            SubscriptionOptions::default(),
            Millis(0),
        );
        let lines = lines(&self.headers);
        subscription.handle_head(self.status, &Headers::new(&lines), Millis(0));
        let mut reported = Vec::new();
        for chunk in chunks {
            subscription.handle_bytes(chunk, Millis(0));
            reported.extend(std::iter::from_fn(|| subscription.poll_output()));
        }
        match self.silent_ms {
            Some(span) => subscription.handle_timeout(Millis(span)),
            None => subscription.handle_end(),
        }
        reported.extend(std::iter::from_fn(|| subscription.poll_output()));
        let reported: Vec<Value> = reported.iter().map(written).collect();
        assert_eq!(reported, self.expect, "{}", self.name);
        let advice = subscription.retry_after().map(|wait| wait.0);
        assert_eq!(advice, self.retry_after_ms, "{}", self.name);
    }
}

fn written(output: &SubscriptionOutput) -> Value {
    match output {
        SubscriptionOutput::Acknowledged(honored) => json!({ "acknowledged": filter(honored) }),
        SubscriptionOutput::Changed(event) => {
            let event: Value = serde_json::from_str(&event.to_json()).unwrap();
            json!({ "changed": event })
        }
        SubscriptionOutput::Ended(CloseReason::Graceful) => json!({ "ended": "graceful" }),
        SubscriptionOutput::Ended(CloseReason::Lost(loss)) => json!({ "lost": loss.code() }),
        SubscriptionOutput::Ended(CloseReason::Refused(refusal)) => match refusal.code {
            Some(code) => json!({ "refused": { "status": refusal.status, "code": code } }),
            None => json!({ "refused": { "status": refusal.status } }),
        },
        other => panic!("{other:?}"),
    }
}

fn filter(honored: &SubscriptionFilter) -> Value {
    serde_json::from_str(&honored.to_json()).unwrap()
}

fn ok() -> u16 {
    200
}

fn event_stream() -> Vec<(String, String)> {
    vec![("Content-Type".to_owned(), "text/event-stream".to_owned())]
}
