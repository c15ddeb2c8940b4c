//! A subscription that is opened again whenever it ends.

use std::collections::BTreeSet;

use mcp_listen::{
    client::{
        Approach, Call, End, HttpRequest, Loss, Options, Refusal, State, Transfer, Watch,
        WatchOutput,
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

/// A watch, its clock, and number and id of its latest request.
struct Watched {
    watch: Watch,
    now: Millis,
    call: Call,
    id: Option<RequestId>,
}

impl Watched {
    fn new(seed: u64) -> Self {
        let (wanted, options) = (watched(&["a", "b"]), Options::default());
        Self {
            watch: Watch::new(wanted, options, Approach::Modern, seed, Millis(0)),
            now: Millis(0),
            call: 0,
            id: None,
        }
    }

    /// The answer to the latest request is an open stream that is acknowledged.
    fn live(seed: u64) -> Self {
        let mut watched = Self::new(seed);
        watched.open();
        watched.acknowledge(&tools());
        watched.told();
        watched
    }

    fn told(&mut self) -> Vec<WatchOutput> {
        std::iter::from_fn(|| self.watch.poll_output(self.now)).collect()
    }

    fn transfers(&mut self) -> Vec<Transfer> {
        std::iter::from_fn(|| self.watch.poll_transfer()).collect()
    }

    fn open(&mut self) -> HttpRequest {
        let transfers = self.transfers();
        let [Transfer::Send(call, request)] = transfers.as_slice() else {
            panic!("{transfers:?}");
        };
        assert_eq!(self.watch.state(), State::Connecting);
        assert!(*call > self.call, "no number is given twice");
        self.call = *call;
        self.id = Some(accept(request).id);
        request.clone()
    }

    fn answer(&mut self, status: u16, fields: &str, body: &[u8]) {
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
        self.answer(200, STREAM, &sse::event(&ack));
    }

    fn say(&mut self, message: &str) {
        self.bytes(&sse::event(message));
    }

    fn wait(&mut self) -> Millis {
        let told = self.told();
        let Some(WatchOutput::Waiting { until, .. }) = told.last() else {
            panic!("{told:?}");
        };
        assert_eq!(self.watch.state(), State::Waiting);
        assert_eq!(self.watch.poll_timeout(), Some(*until));
        *until - self.now
    }

    fn sleep(&mut self, span: Millis) {
        self.now = self.now + span;
        self.watch.handle_timeout(self.now);
    }

    /// Breaks the connection, and the answer is the wait before the next request, which is then
    /// made.
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
fn a_dropped_stream_is_opened_again_by_a_new_request_with_a_new_id() {
    let mut watched = Watched::new(1);
    let mut ids = BTreeSet::new();
    let first = watched.open();
    ids.insert(watched.id.clone().unwrap());
    for _ in 0..20 {
        watched.acknowledge(&tools());
        watched.bytes(b"id: 7\ndata:\n\n");
        watched.told();
        watched.end();
        let wait = watched.wait();
        watched.sleep(wait);
        let request = watched.open();
        assert_eq!(request.method, "POST");
        assert_eq!(request.headers, first.headers, "nothing resumes");
        assert!(ids.insert(watched.id.clone().unwrap()), "the id is new");
    }
}

#[test]
fn it_says_where_it_stands() {
    let mut watched = Watched::new(1);
    assert_eq!(watched.watch.state(), State::Connecting);
    watched.open();
    watched.acknowledge(&tools());
    assert_eq!(watched.told(), [live(tools(), false)]);
    assert_eq!(watched.watch.state(), State::Live);
    watched.end();
    watched.wait();
    assert_eq!(watched.watch.state(), State::Waiting);
    watched.watch.cancel();
    assert_eq!(watched.watch.state(), State::Stopped);
    assert_eq!(watched.watch.poll_timeout(), None);
    watched.sleep(Millis(1_000_000));
    assert_eq!(watched.told(), []);
}

#[test]
fn what_was_honored_is_read_again_on_every_reopening_and_only_there() {
    let mut watched = Watched::new(1);
    watched.open();
    let honored = crate::subscription::watched(&["a"]);
    watched.acknowledge(&honored);
    assert_eq!(watched.told(), [live(honored.clone(), false)]);
    for _ in 0..3 {
        watched.drop_and_reopen();
        watched.acknowledge(&honored);
        let id = watched.id.clone().unwrap();
        watched.say(&message::notification(&id, &updated("a")));
        assert_eq!(
            watched.told(),
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
fn a_first_opening_that_took_several_attempts_is_the_first() {
    let mut watched = Watched::new(1);
    watched.open();
    watched.drop_and_reopen();
    watched.acknowledge(&tools());
    assert_eq!(watched.told(), [live(tools(), false)]);
}

#[test]
fn the_wait_is_anything_up_to_a_ceiling_that_doubles_to_half_a_minute() {
    let ceilings = [
        500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
    ];
    let mut waits = vec![BTreeSet::new(); ceilings.len()];
    for seed in 0..300 {
        let mut watched = Watched::new(seed);
        watched.open();
        for (attempt, ceiling) in ceilings.iter().enumerate() {
            let wait = watched.drop_and_reopen();
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
fn only_a_stream_that_was_open_for_half_a_minute_starts_the_ceilings_anew() {
    let waits_after = |lived: Millis| -> Vec<Millis> {
        (0..100)
            .map(|seed| {
                let mut watched = Watched::new(seed);
                watched.open();
                for _ in 0..8 {
                    watched.drop_and_reopen();
                }
                watched.acknowledge(&tools());
                watched.told();
                watched.sleep(lived);
                watched.end();
                watched.wait()
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
fn a_server_that_says_when_to_come_back_is_obeyed() {
    for seed in 0..50 {
        let mut watched = Watched::new(seed);
        watched.open();
        watched.answer(429, "retry-after: 7", b"");
        let wait = watched.wait();
        assert!(wait >= Millis(7_000) && wait <= Millis(7_500), "{wait:?}");
        let mut watched = Watched::live(seed);
        watched.bytes(b"retry: 9000\n");
        watched.end();
        assert!(watched.wait() >= Millis(9_000));
    }
}

#[test]
fn it_stops_where_the_caller_may_not_or_the_request_is_judged() {
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
        let mut watched = Watched::new(1);
        watched.open();
        watched.answer(status, json, body.as_bytes());
        watched.end();
        let text = if code.is_some() { "m" } else { "" }.to_owned();
        let refusal = Refusal { status, code, text };
        assert_eq!(
            watched.told(),
            [WatchOutput::Stopped(End::Refused(refusal))]
        );
        assert_eq!(watched.watch.state(), State::Stopped);
        watched.sleep(Millis(1_000_000));
        assert_eq!(watched.told(), [], "and does not come back");
    }
}

#[test]
fn it_goes_on_where_the_server_may_recover() {
    for status in [404, 408, 429, 500, 502, 503] {
        let mut watched = Watched::new(1);
        watched.open();
        watched.answer(status, "", b"");
        watched.wait();
    }
    let mut watched = Watched::new(1);
    watched.open();
    let full = br#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"full"}}"#;
    watched.answer(503, "content-type: application/json", full);
    watched.end();
    watched.wait();
}

#[test]
fn a_graceful_end_is_opened_again_unless_nothing_was_honored() {
    let mut watched = Watched::live(1);
    let result = message::listen_result(watched.id.as_ref().unwrap(), None);
    watched.say(&result);
    watched.wait();
    let mut watched = Watched::new(1);
    watched.open();
    watched.acknowledge(&SubscriptionFilter::default());
    let result = message::listen_result(watched.id.as_ref().unwrap(), None);
    watched.say(&result);
    assert_eq!(
        watched.told().last(),
        Some(&WatchOutput::Stopped(End::Graceful))
    );
}

#[test]
fn an_acknowledgment_that_does_not_come_is_another_attempt() {
    let mut watched = Watched::new(1);
    watched.open();
    watched.answer(200, STREAM, b"");
    watched.sleep(Millis(30_000));
    let told = watched.told();
    let [WatchOutput::Waiting { end, .. }] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!(*end, End::Lost(Loss::NotAcknowledged));
    assert_eq!(end.code(), "not-acknowledged");
}

#[derive(Clone, Debug)]
enum Step {
    Answer(u16, &'static str),
    Acknowledge,
    Say(&'static str),
    End,
    Sleep(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let fields = prop::sample::select(&["", STREAM, "content-type: application/json"][..]);
    let text = prop::sample::select(&["data: {}\n\n", ": c\n", "{}", "\n\n"][..]);
    prop_oneof![
        2 => (prop::sample::select(&[200u16, 404, 429, 500][..]), fields).prop_map(|(status, fields)| Step::Answer(status, fields)),
        3 => Just(Step::Acknowledge),
        3 => text.prop_map(Step::Say),
        3 => Just(Step::End),
        6 => (0u64..40_000).prop_map(Step::Sleep),
    ]
}

#[test]
fn whatever_happens_there_is_one_request_at_a_time_and_a_deadline() {
    check((vec(any_step(), 0..60), any::<u64>()), |(steps, seed)| {
        let mut watched = Watched::new(seed);
        watched.open();
        let mut is_waiting = false;
        for step in steps {
            match step {
                Step::Answer(status, fields) => watched.answer(status, fields, b""),
                Step::Acknowledge => watched.acknowledge(&tools()),
                Step::Say(text) => watched.bytes(text.as_bytes()),
                Step::End => watched.end(),
                Step::Sleep(span) => watched.sleep(Millis(span)),
            }
            for output in watched.told() {
                is_waiting |= matches!(output, WatchOutput::Waiting { .. });
            }
            for transfer in watched.transfers() {
                if let Transfer::Send(call, request) = transfer {
                    assert!(std::mem::take(&mut is_waiting), "one request at a time");
                    (watched.call, watched.id) = (call, Some(accept(&request).id));
                }
            }
            assert_ne!(watched.watch.state(), State::Stopped);
            assert!(
                watched.watch.poll_timeout().is_some(),
                "it never sleeps for ever"
            );
        }
    });
}
