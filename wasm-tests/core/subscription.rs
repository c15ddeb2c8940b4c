//! One subscription over HTTP, as its client sees it.

use mcp_listen::{
    capabilities::Capabilities,
    client::{End, HttpRequest, Loss, Options, Output, Refusal, Subscription},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::{Ids, RequestId},
    limits::Limits,
    listen::{self, Accepted, Headers, ServerStream, Verdict},
    message,
    sse::{self, Bounds, DecodeError},
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{any_event, any_filter, check, is_of_same_key, updated, uri},
    client::tools,
};

pub(crate) const STREAM: &str = "Content-Type: text/event-stream";
const JSON: &str = "content-type: application/json; charset=utf-8";

pub(crate) fn own_id() -> RequestId {
    Ids::default().mint()
}

pub(crate) fn watched(uris: &[&str]) -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: uris.iter().map(|text| uri(text)).collect(),
        ..SubscriptionFilter::default()
    }
}

fn request_with(options: Options) -> Subscription {
    Subscription::new(own_id(), watched(&["a", "b"]), options, Millis(0))
}

fn requested() -> Subscription {
    request_with(Options::default())
}

/// Its stream has begun, and nothing was said.
fn begun() -> Subscription {
    let mut subscription = requested();
    subscription.handle_head(200, &Headers::new(STREAM), Millis(0));
    subscription
}

fn acknowledged() -> Subscription {
    let mut subscription = begun();
    let honored = watched(&["a", "b"]);
    say(&mut subscription, &ack(&honored));
    assert_eq!(told(&mut subscription), [Output::Acknowledged(honored)]);
    subscription
}

fn ack(honored: &SubscriptionFilter) -> String {
    message::acknowledged(&own_id(), honored)
}

fn change(event: &ServerEvent) -> String {
    message::notification(&own_id(), event)
}

fn say(subscription: &mut Subscription, message: &str) {
    subscription.handle_bytes(&sse::event(message), Millis(0));
}

fn told(subscription: &mut Subscription) -> Vec<Output> {
    std::iter::from_fn(|| subscription.poll_output()).collect()
}

fn lost(loss: Loss) -> Output {
    Output::Ended(End::Lost(loss))
}

fn refused(status: u16, code: Option<i32>, text: &str) -> Output {
    Output::Ended(End::Refused(Refusal {
        status,
        code,
        text: text.to_owned(),
    }))
}

/// What an answer comes to that is no stream.
fn answered(status: u16, fields: &str, body: &str) -> Vec<Output> {
    let mut subscription = requested();
    subscription.handle_head(status, &Headers::new(fields), Millis(0));
    for byte in body.as_bytes().chunks(1) {
        subscription.handle_bytes(byte, Millis(0));
    }
    subscription.handle_end();
    told(&mut subscription)
}

fn accept(request: &HttpRequest) -> Accepted {
    let lines: Vec<String> = request
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let lines = lines.join("\n");
    let body = request.body.as_deref().unwrap();
    let headers = Headers::new(&lines);
    match listen::accept(
        request.method,
        &headers,
        body.as_bytes(),
        &Limits::default(),
    ) {
        Verdict::Accepted(accepted) => accepted,
        verdict => panic!("{verdict:?}"),
    }
}

#[test]
fn the_request_has_its_headers_and_names_version_capabilities_and_client() {
    let options = Options {
        client_info: Some(r#"{"name":"n","version":"1"}"#.to_owned()),
        ..Options::default()
    };
    let request = Subscription::new(own_id(), tools(), options, Millis(0)).request();
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    assert_eq!(request.method, "POST");
    assert_eq!(
        request.headers,
        headers.map(|(name, value)| (name, value.to_owned()))
    );
    assert_eq!(
        request.body.unwrap(),
        r#"{"jsonrpc":"2.0","id":"mcp-listen:1","method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"n","version":"1"}},"notifications":{"toolsListChanged":true}}}"#
    );
}

#[test]
fn every_request_is_one_that_our_server_takes() {
    check(any_filter(), |filter| {
        let subscription =
            Subscription::new(own_id(), filter.clone(), Options::default(), Millis(0));
        let accepted = accept(&subscription.request());
        assert_eq!((accepted.id, accepted.requested), (own_id(), filter));
    });
}

#[test]
fn a_stream_is_acknowledged_changes_and_ends() {
    let mut subscription = acknowledged();
    say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
    let changed = Output::Changed(ServerEvent::ToolsListChanged);
    assert_eq!(told(&mut subscription), [changed]);
    say(&mut subscription, &message::listen_result(&own_id(), None));
    assert_eq!(told(&mut subscription), [Output::Ended(End::Graceful)]);
    assert!(subscription.is_ended());
    say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
    subscription.handle_end();
    assert_eq!(told(&mut subscription), []);
}

#[test]
fn an_end_without_a_result_is_a_loss_wherever_it_comes() {
    for mut subscription in [requested(), begun(), acknowledged()] {
        subscription.handle_end();
        assert_eq!(told(&mut subscription), [lost(Loss::Disconnected)]);
    }
    let mut subscription = acknowledged();
    let half = sse::event(&change(&ServerEvent::ToolsListChanged));
    subscription.handle_bytes(&half[..half.len() - 1], Millis(0));
    subscription.handle_end();
    assert_eq!(told(&mut subscription), [lost(Loss::Disconnected)]);
}

#[test]
fn a_subscription_that_the_server_gives_up_is_lost() {
    let mut subscription = acknowledged();
    say(&mut subscription, &message::cancelled(&own_id()));
    assert_eq!(told(&mut subscription), [lost(Loss::Cancelled)]);
}

#[test]
fn json_answers_as_well_as_a_stream() {
    let error = r#"{"jsonrpc":"2.0","id":"mcp-listen:1","error":{"code":-32603,"message":"full"}}"#;
    let full = |status| [refused(status, Some(-32_603), "full")];
    assert_eq!(answered(503, JSON, error), full(503));
    assert_eq!(answered(200, JSON, error), full(200));
    let nobodys = error.replace("\"mcp-listen:1\"", "null");
    assert_eq!(answered(503, JSON, &nobodys), full(503));
    let nobodys = error.replace("\"id\":\"mcp-listen:1\",", "");
    assert_eq!(answered(400, JSON, &nobodys), full(400));
    let mut subscription = begun();
    say(&mut subscription, error);
    assert_eq!(told(&mut subscription), full(200));
}

#[test]
fn an_error_of_another_request_is_not_ours() {
    let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"full"}}"#;
    assert_eq!(answered(200, JSON, error), [lost(Loss::InvalidAnswer)]);
    assert_eq!(answered(503, JSON, error), [refused(503, None, "")]);
    let mut subscription = begun();
    say(&mut subscription, error);
    assert_eq!(told(&mut subscription), []);
}

#[test]
fn a_refusal_has_its_status_whatever_its_body() {
    for (fields, body) in [
        ("", ""),
        (JSON, ""),
        (JSON, "{"),
        (JSON, "[]"),
        (JSON, r#"{"error":"invalid_token"}"#),
        (JSON, r#"{"id":"mcp-listen:1","result":{}}"#),
        ("content-type: text/html", "<h1>"),
        (STREAM, "data: {}\n\n"),
    ] {
        assert_eq!(
            answered(401, fields, body),
            [refused(401, None, "")],
            "{body}"
        );
    }
}

#[test]
fn an_answer_that_is_none_is_invalid() {
    for (status, fields, body) in [
        (200, "", ""),
        (202, "", ""),
        (200, JSON, ""),
        (200, JSON, "garbage"),
        (200, JSON, "[]"),
        (200, "content-type: text/plain", "hello"),
        (200, JSON, &ack(&tools())),
        (
            200,
            JSON,
            r#"{"jsonrpc":"2.0","id":"mcp-listen:1","result":{"resultType":"unheard-of"}}"#,
        ),
        (200, JSON, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#),
    ] {
        let invalid = [lost(Loss::InvalidAnswer)];
        assert_eq!(answered(status, fields, body), invalid, "{body}");
    }
}

#[test]
fn a_result_before_the_acknowledgment_is_open_with_nothing_and_ended() {
    let result = message::listen_result(&own_id(), None);
    let closed = [
        Output::Acknowledged(SubscriptionFilter::default()),
        Output::Ended(End::Graceful),
    ];
    assert_eq!(answered(200, JSON, &result), closed);
    let mut subscription = begun();
    say(&mut subscription, &result);
    assert_eq!(told(&mut subscription), closed);
}

#[test]
fn a_malformed_acknowledgment_is_an_error_and_cancels() {
    let stamp = r#""_meta":{"io.modelcontextprotocol/subscriptionId":"mcp-listen:1"}"#;
    for filter in [
        "",
        ",\"notifications\":[]",
        ",\"notifications\":{\"toolsListChanged\":1}",
    ] {
        let mut subscription = begun();
        say(
            &mut subscription,
            &format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{{stamp}{filter}}}}}"#
            ),
        );
        assert_eq!(
            told(&mut subscription),
            [lost(Loss::MalformedAcknowledgment)]
        );
        assert!(subscription.is_ended(), "its response is to be closed");
        say(&mut subscription, &ack(&tools()));
        assert_eq!(told(&mut subscription), []);
    }
}

#[test]
fn an_acknowledgment_of_more_is_cut_down_and_the_first_one_holds() {
    let mut subscription = begun();
    let more = SubscriptionFilter {
        prompts_list_changed: true,
        ..watched(&["a", "c"])
    };
    say(&mut subscription, &ack(&more));
    say(&mut subscription, &ack(&watched(&["a", "b"])));
    say(&mut subscription, &change(&ServerEvent::PromptsListChanged));
    assert_eq!(
        told(&mut subscription),
        [Output::Acknowledged(watched(&["a"]))]
    );
}

#[test]
fn changes_before_the_acknowledgment_and_of_others_are_ignored() {
    let mut subscription = begun();
    say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
    say(
        &mut subscription,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    );
    let other = RequestId::from_text("mcp-listen:2");
    say(&mut subscription, &message::acknowledged(&other, &tools()));
    assert_eq!(told(&mut subscription), []);
    let mut subscription = acknowledged();
    for message in [
        message::notification(&other, &ServerEvent::ToolsListChanged),
        message::listen_result(&other, None),
        message::cancelled(&other),
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned(),
    ] {
        say(&mut subscription, &message);
        assert_eq!(told(&mut subscription), [], "{message}");
    }
}

#[test]
fn a_part_of_a_resource_is_told_where_resources_were_honored() {
    let mut subscription = acknowledged();
    say(&mut subscription, &change(&updated("a/1")));
    assert_eq!(told(&mut subscription), [Output::Changed(updated("a/1"))]);
    let mut subscription = begun();
    say(&mut subscription, &ack(&tools()));
    say(&mut subscription, &change(&updated("a")));
    assert_eq!(told(&mut subscription), [Output::Acknowledged(tools())]);
}

#[test]
fn what_cannot_be_read_may_have_been_any_change() {
    let stamp = r#""_meta":{"io.modelcontextprotocol/subscriptionId":"mcp-listen:1"}"#;
    let without_uri = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{{stamp}}}}}"#
    );
    let everything = [
        Output::Changed(ServerEvent::ToolsListChanged),
        Output::Changed(updated("a")),
        Output::Changed(updated("b")),
    ];
    for message in [without_uri.as_str(), "garbage"] {
        let mut subscription = acknowledged();
        say(&mut subscription, message);
        assert_eq!(told(&mut subscription), everything, "{message}");
    }
    let mut subscription = acknowledged();
    subscription.handle_bytes(b"data:\n\nevent: other\ndata: garbage\n\n", Millis(0));
    assert_eq!(told(&mut subscription), [], "neither is a message");
}

#[test]
fn what_is_not_polled_collapses() {
    let mut subscription = acknowledged();
    for _ in 0..1_000 {
        say(&mut subscription, &change(&updated("b")));
        say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
        say(&mut subscription, &change(&updated("a/1")));
    }
    let pending = [
        Output::Changed(updated("b")),
        Output::Changed(ServerEvent::ToolsListChanged),
        Output::Changed(updated("a/1")),
    ];
    assert_eq!(told(&mut subscription), pending);
}

#[test]
fn too_many_parts_become_the_resources_themselves() {
    let parts = Limits::default().uris;
    let mut subscription = acknowledged();
    for round in 0..3 {
        for part in 0..=parts {
            say(
                &mut subscription,
                &change(&updated(&format!("a/{round}/{part}"))),
            );
        }
        let told = told(&mut subscription);
        assert_eq!(told.len(), parts + 2);
        let resources = [Output::Changed(updated("a")), Output::Changed(updated("b"))];
        assert_eq!(told[parts..], resources, "what was told makes room");
    }
}

#[test]
fn what_is_pending_is_told_before_the_end() {
    let mut subscription = begun();
    say(&mut subscription, &ack(&tools()));
    say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
    subscription.handle_end();
    let all = [
        Output::Acknowledged(tools()),
        Output::Changed(ServerEvent::ToolsListChanged),
        lost(Loss::Disconnected),
    ];
    assert_eq!(told(&mut subscription), all);
}

#[test]
fn after_a_cancel_nothing_is_told_and_nothing_is_sent() {
    for mut subscription in [requested(), begun(), acknowledged()] {
        say(&mut subscription, &ack(&tools()));
        say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
        subscription.cancel();
        assert_eq!(told(&mut subscription), []);
        say(&mut subscription, &ack(&tools()));
        say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
        subscription.handle_end();
        subscription.handle_timeout(Millis(1_000_000));
        assert_eq!(told(&mut subscription), []);
        assert_eq!(subscription.poll_timeout(), None);
        assert!(subscription.is_ended());
    }
}

#[test]
fn only_the_wait_for_the_acknowledgment_has_a_limit() {
    let options = Options {
        acknowledgment: Millis(1_000),
        silence: Millis(0),
        ..Options::default()
    };
    let mut subscription = request_with(options.clone());
    subscription.handle_head(200, &Headers::new(STREAM), Millis(500));
    subscription.handle_bytes(sse::KEEP_ALIVE, Millis(900));
    assert_eq!(subscription.poll_timeout(), Some(Millis(1_000)));
    subscription.handle_timeout(Millis(999));
    assert_eq!(told(&mut subscription), []);
    subscription.handle_timeout(Millis(1_000));
    assert_eq!(told(&mut subscription), [lost(Loss::NotAcknowledged)]);
    assert!(subscription.is_ended());
    let mut subscription = request_with(options);
    subscription.handle_head(200, &Headers::new(STREAM), Millis(0));
    say(&mut subscription, &ack(&tools()));
    assert_eq!(
        subscription.poll_timeout(),
        None,
        "the open stream has none"
    );
    subscription.handle_timeout(Millis(u64::MAX));
    assert_eq!(told(&mut subscription), [Output::Acknowledged(tools())]);
}

#[test]
fn a_json_answer_that_never_ends_is_not_awaited_for_ever() {
    let mut subscription = requested();
    subscription.handle_head(200, &Headers::new(JSON), Millis(0));
    subscription.handle_timeout(subscription.poll_timeout().unwrap());
    assert_eq!(told(&mut subscription), [lost(Loss::NotAcknowledged)]);
}

#[test]
fn silence_ends_an_open_stream_and_keep_alives_put_it_off() {
    let mut subscription = acknowledged();
    assert_eq!(subscription.poll_timeout(), Some(Millis(60_000)));
    subscription.handle_bytes(sse::KEEP_ALIVE, Millis(50_000));
    subscription.handle_timeout(Millis(60_000));
    assert_eq!(told(&mut subscription), []);
    assert_eq!(subscription.poll_timeout(), Some(Millis(110_000)));
    subscription.handle_timeout(Millis(110_000));
    assert_eq!(told(&mut subscription), [lost(Loss::Silence)]);
}

#[test]
fn what_a_server_sends_is_bounded() {
    let options = Options {
        bounds: Bounds {
            line_bytes: 500,
            event_bytes: 500,
        },
        limits: Limits {
            body_bytes: 500,
            ..Limits::default()
        },
        ..Options::default()
    };
    let mut subscription = request_with(options.clone());
    subscription.handle_head(200, &Headers::new(STREAM), Millis(0));
    subscription.handle_bytes(&[b'x'; 501], Millis(0));
    let too_long = lost(Loss::Stream(DecodeError::LineTooLong));
    assert_eq!(told(&mut subscription), [too_long]);
    for (status, end) in [
        (200, lost(Loss::AnswerTooLarge)),
        (500, refused(500, None, "")),
    ] {
        let mut subscription = request_with(options.clone());
        subscription.handle_head(status, &Headers::new(JSON), Millis(0));
        subscription.handle_bytes(&[b' '; 500], Millis(0));
        assert!(!subscription.is_ended());
        subscription.handle_bytes(b" ", Millis(0));
        assert_eq!(told(&mut subscription), [end]);
    }
}

#[test]
fn advice_when_to_come_back_is_kept_and_bounded() {
    let advice = |fields: &str| {
        let mut subscription = requested();
        subscription.handle_head(503, &Headers::new(fields), Millis(0));
        subscription.retry_after()
    };
    assert_eq!(advice("retry-after: 2"), Some(Millis(2_000)));
    assert_eq!(
        advice("Retry-After: 99999999999999999999"),
        Some(Millis(3_600_000))
    );
    for none in [
        "",
        "retry-after:",
        "retry-after: -1",
        "retry-after: Wed, 21 Oct 2026 07:28:00 GMT",
    ] {
        assert_eq!(advice(none), None, "{none}");
    }
    let mut subscription = begun();
    subscription.handle_bytes(b"retry: 1500\n\n", Millis(0));
    assert_eq!(subscription.retry_after(), Some(Millis(1_500)));
}

#[derive(Clone, Debug)]
enum Step {
    Publish(ServerEvent),
    /// The server writes what it has to say next.
    Write,
    KeepAlive,
    /// The client's owner takes what there is.
    Poll,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any_event().prop_map(Step::Publish),
        6 => Just(Step::Write),
        1 => Just(Step::KeepAlive),
        3 => Just(Step::Poll),
    ]
}

/// A server's stream and a client's subscription with bytes between them.
struct Wired {
    server: ServerStream,
    client: Subscription,
    chunk_bytes: usize,
    /// What was published after the acknowledgment and has yet to be heard.
    unheard: Vec<ServerEvent>,
    honored: SubscriptionFilter,
    heard_end: bool,
}

impl Wired {
    fn new(filter: SubscriptionFilter, chunk_bytes: usize) -> Self {
        let mut client = Subscription::new(own_id(), filter, Options::default(), Millis(0));
        let accepted = accept(&client.request());
        let honored = accepted.requested.honored(Capabilities::ALL, None);
        let mut server = ServerStream::new(accepted.id, honored.clone(), Millis(0), Millis(0));
        server.handle_attached(Millis(0));
        client.handle_head(200, &Headers::new(STREAM), Millis(0));
        Self {
            server,
            client,
            chunk_bytes,
            unheard: Vec::new(),
            honored,
            heard_end: false,
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Publish(event) => {
                self.server.handle_event(event);
                if self.honored.accepts(event) {
                    self.unheard
                        .retain(|waiting| !is_of_same_key(waiting, event));
                    self.unheard.push(event.clone());
                }
            }
            Step::Write => match self.server.poll_output(Millis(0)) {
                Some(listen::Output::Message(message)) => self.send(&sse::event(&message)),
                Some(listen::Output::End) => self.client.handle_end(),
                _ => {}
            },
            Step::KeepAlive => self.send(sse::KEEP_ALIVE),
            Step::Poll => self.poll(),
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(self.chunk_bytes) {
            self.client.handle_bytes(chunk, Millis(0));
        }
    }

    fn poll(&mut self) {
        while let Some(output) = self.client.poll_output() {
            assert!(!self.heard_end, "{output:?} after the end");
            match output {
                Output::Acknowledged(honored) => assert_eq!(honored, self.honored),
                Output::Changed(event) => {
                    assert!(self.honored.accepts(&event), "{event:?} was not honored");
                    self.unheard.retain(|waiting| *waiting != event);
                }
                Output::Ended(end) => {
                    assert_eq!(end, End::Graceful);
                    self.heard_end = true;
                }
            }
        }
    }
}

#[test]
fn a_server_and_a_client_back_to_back_lose_nothing() {
    check(
        (any_filter(), vec(any_step(), 0..60), 1usize..40),
        |(filter, steps, chunk_bytes)| {
            let mut wired = Wired::new(filter, chunk_bytes);
            for step in &steps {
                wired.take(step);
            }
            wired.server.close();
            for _ in 0..100 {
                wired.take(&Step::Write);
            }
            wired.poll();
            assert!(wired.heard_end);
            assert_eq!(
                wired.unheard,
                [],
                "the last change of each subject is heard"
            );
        },
    );
}

#[test]
fn any_bytes_are_borne() {
    check(
        (vec(any::<u8>(), 0..300), any::<bool>()),
        |(bytes, is_json)| {
            let mut subscription = requested();
            let fields = if is_json { JSON } else { STREAM };
            subscription.handle_head(200, &Headers::new(fields), Millis(0));
            subscription.handle_bytes(&bytes, Millis(0));
            subscription.handle_end();
            let told = told(&mut subscription);
            assert!(
                matches!(told.as_slice(), [Output::Ended(End::Lost(_))]),
                "{told:?}"
            );
        },
    );
}
