//! A subscription that is reopened whenever it ends.

use std::collections::BTreeSet;

use mcp_listen::{
    client::{
        CloseReason, HttpAction, HttpRequest, Loss, Refusal, RequestHandle, ServerHint,
        SubscriptionOptions, Watch, WatchOutput, WatchState,
    },
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    http::Headers,
    id::RequestId,
    message, sse,
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{check, updated},
    client::tools,
    subscription::{STREAM, accept, watched},
};

/// A watch, its clock, and the number and id of its latest request.
struct Host {
    watch: Watch,
    now: Millis,
    call: RequestHandle,
    id: Option<RequestId>,
}

impl Host {
    fn new(seed: u64) -> Self {
        let (wanted, options) = (watched(&["a", "b"]), SubscriptionOptions::default());
        Self {
            watch: Watch::new(wanted, options, ServerHint::Modern, seed, Millis(0)),
            now: Millis(0),
            call: 0,
            id: None,
        }
    }

    /// Responds to the latest request with an open, acknowledged stream.
    fn live(seed: u64) -> Self {
        let mut host = Self::new(seed);
        host.open();
        host.acknowledge(&tools());
        host.reported();
        host
    }

    fn reported(&mut self) -> Vec<WatchOutput> {
        std::iter::from_fn(|| self.watch.poll_output(self.now)).collect()
    }

    fn transfers(&mut self) -> Vec<HttpAction> {
        std::iter::from_fn(|| self.watch.poll_action()).collect()
    }

    fn open(&mut self) -> HttpRequest {
        let transfers = self.transfers();
        let [HttpAction::Send(call, request)] = transfers.as_slice() else {
            panic!("{transfers:?}");
        };
        assert_eq!(self.watch.state(), WatchState::Connecting);
        assert!(*call > self.call, "no number is given twice");
        self.call = *call;
        self.id = Some(accept(request).id);
        request.clone()
    }

    fn respond(&mut self, status: u16, fields: &str, body: &[u8]) {
        let headers = Headers::new(fields);
        self.watch
            .handle_head(self.call, status, &headers, self.now);
        self.bytes(body);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.watch.handle_bytes(self.call, bytes, self.now);
    }

    fn end(&mut self) {
        self.watch.handle_end(self.call, self.now);
    }

    fn acknowledge(&mut self, honored: &SubscriptionFilter) {
        let ack = message::acknowledged(self.id.as_ref().unwrap(), honored);
        self.respond(200, STREAM, &sse::event(&ack));
    }

    fn say(&mut self, message: &str) {
        self.bytes(&sse::event(message));
    }

    fn wait(&mut self) -> Millis {
        let reported = self.reported();
        let Some(WatchOutput::Waiting { until, .. }) = reported.last() else {
            panic!("{reported:?}");
        };
        assert_eq!(self.watch.state(), WatchState::Waiting);
        assert_eq!(self.watch.poll_timeout(), Some(*until));
        *until - self.now
    }

    fn sleep(&mut self, span: Millis) {
        self.now = self.now + span;
        self.watch.handle_timeout(self.now);
    }

    /// Breaks the connection, and returns the wait before the next request, which is then sent.
    fn drop_and_reopen(&mut self) -> Millis {
        self.end();
        let wait = self.wait();
        self.sleep(wait);
        self.open();
        wait
    }
}

fn live(honored: SubscriptionFilter, is_again: bool) -> WatchOutput {
    WatchOutput::Live { honored, is_again }
}

#[test]
fn a_dropped_stream_is_reopened_with_a_new_id() {
    let mut host = Host::new(1);
    let mut ids = BTreeSet::new();
    let first = host.open();
    ids.insert(host.id.clone().unwrap());
    for _ in 0..20 {
        host.acknowledge(&tools());
        host.bytes(b"id: 7\ndata:\n\n");
        host.reported();
        host.end();
        let wait = host.wait();
        host.sleep(wait);
        let request = host.open();
        assert_eq!(request.method, "POST");
        assert_eq!(request.headers, first.headers, "nothing resumes");
        assert!(ids.insert(host.id.clone().unwrap()), "the id is new");
    }
}

#[test]
fn the_state_of_a_watch_is_reported() {
    let mut host = Host::new(1);
    assert_eq!(host.watch.state(), WatchState::Connecting);
    host.open();
    host.acknowledge(&tools());
    assert_eq!(host.reported(), [live(tools(), false)]);
    assert_eq!(host.watch.state(), WatchState::Live);
    host.end();
    host.wait();
    assert_eq!(host.watch.state(), WatchState::Waiting);
    host.watch.cancel();
    assert_eq!(host.watch.state(), WatchState::Stopped);
    assert_eq!(host.watch.poll_timeout(), None);
    host.sleep(Millis(1_000_000));
    assert_eq!(host.reported(), []);
}

#[test]
fn everything_honored_is_reported_on_each_reopening_only() {
    let mut host = Host::new(1);
    host.open();
    let honored = crate::subscription::watched(&["a"]);
    host.acknowledge(&honored);
    assert_eq!(host.reported(), [live(honored.clone(), false)]);
    for _ in 0..3 {
        host.drop_and_reopen();
        host.acknowledge(&honored);
        let id = host.id.clone().unwrap();
        host.say(&message::notification(&id, &updated("a")));
        assert_eq!(
            host.reported(),
            [
                live(honored.clone(), true),
                WatchOutput::Changed(updated("a")),
                WatchOutput::Changed(ServerEvent::ToolsListChanged),
            ],
            "each subject once"
        );
    }
}

#[test]
fn a_first_opening_after_failed_attempts_reports_nothing() {
    let mut host = Host::new(1);
    host.open();
    host.drop_and_reopen();
    host.acknowledge(&tools());
    assert_eq!(host.reported(), [live(tools(), false)]);
}

#[test]
fn the_wait_is_drawn_below_a_ceiling_that_doubles_to_half_a_minute() {
    let ceilings = [
        500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
    ];
    let mut waits = vec![BTreeSet::new(); ceilings.len()];
    for seed in 0..300 {
        let mut host = Host::new(seed);
        host.open();
        for (attempt, ceiling) in ceilings.iter().enumerate() {
            let wait = host.drop_and_reopen();
            assert!(wait <= Millis(*ceiling), "attempt {attempt}: {wait:?}");
            waits[attempt].insert(wait.0);
        }
    }
    for (waits, ceiling) in waits.iter().zip(ceilings) {
        let (least, most) = (waits.first().unwrap(), waits.last().unwrap());
        assert!(*least < ceiling / 20, "{least} of {ceiling}");
        assert!(*most > ceiling - ceiling / 20, "{most} of {ceiling}");
        assert!(waits.len() > 100, "they differ");
    }
}

#[test]
fn only_a_stream_open_for_half_a_minute_resets_the_backoff() {
    let waits_after = |lived: Millis| -> Vec<Millis> {
        (0..100)
            .map(|seed| {
                let mut host = Host::new(seed);
                host.open();
                for _ in 0..8 {
                    host.drop_and_reopen();
                }
                host.acknowledge(&tools());
                host.reported();
                host.sleep(lived);
                host.end();
                host.wait()
            })
            .collect()
    };
    assert!(
        waits_after(Millis(29_999))
            .into_iter()
            .any(|wait| wait > Millis(500))
    );
    assert!(
        waits_after(Millis(30_000))
            .into_iter()
            .all(|wait| wait <= Millis(500))
    );
}

#[test]
fn retry_after_is_obeyed() {
    for seed in 0..50 {
        let mut host = Host::new(seed);
        host.open();
        host.respond(429, "retry-after: 7", b"");
        let wait = host.wait();
        assert!(wait >= Millis(7_000) && wait <= Millis(7_500), "{wait:?}");
        let mut host = Host::live(seed);
        host.bytes(b"retry: 9000\n");
        host.end();
        assert!(host.wait() >= Millis(9_000));
    }
}

#[test]
fn a_watch_stops_if_the_caller_or_request_is_refused() {
    let json = "content-type: application/json";
    let error =
        |code: i32| format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":"m"}}}}"#);
    for (status, body, code) in [
        (401, String::new(), None),
        (403, String::new(), None),
        (404, error(-32_601), Some(-32_601)),
        (200, error(-32_601), Some(-32_601)),
        (400, error(-32_602), Some(-32_602)),
        (400, error(-32_022), Some(-32_022)),
    ] {
        let mut host = Host::new(1);
        host.open();
        host.respond(status, json, body.as_bytes());
        host.end();
        let text = if code.is_some() { "m" } else { "" }.to_owned();
        let refusal = Refusal { status, code, text };
        assert_eq!(
            host.reported(),
            [WatchOutput::Stopped(CloseReason::Refused(refusal))]
        );
        assert_eq!(host.watch.state(), WatchState::Stopped);
        host.sleep(Millis(1_000_000));
        assert_eq!(host.reported(), [], "and does not come back");
    }
}

#[test]
fn a_watch_continues_if_the_server_may_recover() {
    for status in [404, 408, 429, 500, 502, 503] {
        let mut host = Host::new(1);
        host.open();
        host.respond(status, "", b"");
        host.wait();
    }
    for (status, code) in [(503, -32_603), (408, -32_600), (429, -32_600)] {
        let mut host = Host::new(1);
        host.open();
        let error = format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":"m"}}}}"#);
        host.respond(status, "content-type: application/json", error.as_bytes());
        host.end();
        host.wait();
    }
}

#[test]
fn a_graceful_end_is_reopened_unless_nothing_was_honored() {
    let mut host = Host::live(1);
    let result = message::listen_result(host.id.as_ref().unwrap(), None);
    host.say(&result);
    host.wait();
    let mut host = Host::new(1);
    host.open();
    host.acknowledge(&SubscriptionFilter::default());
    let result = message::listen_result(host.id.as_ref().unwrap(), None);
    host.say(&result);
    assert_eq!(
        host.reported().last(),
        Some(&WatchOutput::Stopped(CloseReason::Graceful))
    );
}

#[test]
fn a_missing_acknowledgment_leads_to_another_attempt() {
    let mut host = Host::new(1);
    host.open();
    host.respond(200, STREAM, b"");
    host.sleep(Millis(30_000));
    let reported = host.reported();
    let [WatchOutput::Waiting { end, .. }] = reported.as_slice() else {
        panic!("{reported:?}");
    };
    assert_eq!(*end, CloseReason::Lost(Loss::NotAcknowledged));
    assert_eq!(end.code(), "not-acknowledged");
}

#[derive(Clone, Debug)]
enum Step {
    Response(u16, &'static str),
    Acknowledge,
    Say(&'static str),
    End,
    Sleep(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let fields = prop::sample::select(&["", STREAM, "content-type: application/json"][..]);
    let text = prop::sample::select(&["data: {}\n\n", ": c\n", "{}", "\n\n"][..]);
    let status = prop::sample::select(&[200u16, 404, 429, 500][..]);
    let response = (status, fields).prop_map(|(status, fields)| Step::Response(status, fields));
    prop_oneof![
        2 => response,
        3 => Just(Step::Acknowledge),
        3 => text.prop_map(Step::Say),
        3 => Just(Step::End),
        6 => (0u64..40_000).prop_map(Step::Sleep),
    ]
}

#[test]
fn there_is_always_one_request_and_a_deadline() {
    check((vec(any_step(), 0..60), any::<u64>()), |(steps, seed)| {
        let mut host = Host::new(seed);
        host.open();
        let mut is_waiting = false;
        for step in steps {
            match step {
                Step::Response(status, fields) => host.respond(status, fields, b""),
                Step::Acknowledge => host.acknowledge(&tools()),
                Step::Say(text) => host.bytes(text.as_bytes()),
                Step::End => host.end(),
                Step::Sleep(span) => host.sleep(Millis(span)),
            }
            for output in host.reported() {
                is_waiting |= matches!(output, WatchOutput::Waiting { .. });
            }
            for transfer in host.transfers() {
                if let HttpAction::Send(call, request) = transfer {
                    assert!(std::mem::take(&mut is_waiting), "one request at a time");
                    (host.call, host.id) = (call, Some(accept(&request).id));
                }
            }
            assert_ne!(host.watch.state(), WatchState::Stopped);
            assert!(
                host.watch.poll_timeout().is_some(),
                "there is always a deadline"
            );
        }
    });
}
