//! The client's side: one subscription, and many on one channel.

use mcp_listen::{
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::{Ids, RequestId},
    limits::Limits,
    listen::{ClientEnd, ClientStream, Incoming, Notice},
    message,
    stdio::{ClientChannel, ClientInput, Renewed},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_event, any_filter, any_id, check, id, updated, uri};

pub(crate) fn tools() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    }
}

fn read(message: &str) -> Option<(RequestId, Incoming)> {
    Incoming::read(message.as_bytes(), &Limits::default())
}

fn open_stream(filter: SubscriptionFilter) -> ClientStream {
    let mut stream = ClientStream::new(id("1"), filter.clone());
    let acknowledged = stream.handle_message(Incoming::Acknowledged(filter.clone()));
    assert_eq!(acknowledged, Some(Notice::Acknowledged(filter)));
    stream
}

pub(crate) fn client() -> ClientChannel {
    ClientChannel::new(Limits::default(), 100_000)
}

fn hear(client: &mut ClientChannel, line: &str) -> Vec<ClientInput> {
    client.handle_bytes(format!("{line}\n").as_bytes());
    std::iter::from_fn(|| client.poll_input()).collect()
}

pub(crate) fn lost(raw: &str) -> (RequestId, Notice) {
    (id(raw), Notice::Ended(ClientEnd::Lost))
}

#[test]
fn what_a_server_of_ours_writes_is_read_as_it_was_meant() {
    check(
        (any_filter(), any_event(), any_id()),
        |(filter, event, raw)| {
            let id = id(raw);
            for (message, incoming) in [
                (
                    message::acknowledged(&id, &filter),
                    Incoming::Acknowledged(filter),
                ),
                (message::notification(&id, &event), Incoming::Changed(event)),
                (message::listen_result(&id, None), Incoming::Result),
                (message::cancelled(&id), Incoming::Cancelled),
            ] {
                assert_eq!(read(&message), Some((id.clone(), incoming)), "{message}");
            }
        },
    );
}

#[test]
fn answers_to_the_request_end_it_as_the_specification_says() {
    for (answer, incoming) in [
        (r#""result":{}"#, Incoming::Result),
        (r#""result":{"resultType":"complete"}"#, Incoming::Result),
        (r#""result":{"resultType":"unheard-of"}"#, Incoming::Invalid),
        (r#""result":{},"error":{}"#, Incoming::Invalid),
        (r#""x":1"#, Incoming::Invalid),
        (
            r#""error":{"code":-32603,"message":"full"}"#,
            Incoming::Refused {
                code: -32_603,
                text: "full".to_owned(),
            },
        ),
    ] {
        let message = format!(r#"{{"jsonrpc":"2.0","id":"a",{answer}}}"#);
        assert_eq!(read(&message), Some((id("\"a\""), incoming)), "{message}");
    }
}

#[test]
fn a_notification_without_what_it_needs_is_malformed() {
    let stamp = r#""_meta":{"io.modelcontextprotocol/subscriptionId":1}"#;
    for (method, params, incoming) in [
        (
            "subscriptions/acknowledged",
            "",
            Incoming::MalformedAcknowledgment,
        ),
        (
            "subscriptions/acknowledged",
            r#","notifications":[]"#,
            Incoming::MalformedAcknowledgment,
        ),
        ("resources/updated", "", Incoming::Malformed),
        ("resources/updated", r#","uri":"""#, Incoming::Malformed),
    ] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{stamp}{params}}}}}"#
        );
        assert_eq!(read(&message), Some((id("1"), incoming)), "{message}");
    }
}

#[test]
fn an_honored_filter_is_never_more_than_was_requested() {
    let mut stream = ClientStream::new(id("1"), tools());
    let more = SubscriptionFilter {
        prompts_list_changed: true,
        resource_subscriptions: vec![uri("a")],
        ..tools()
    };
    let notice = stream.handle_message(Incoming::Acknowledged(more));
    assert_eq!(notice, Some(Notice::Acknowledged(tools())));
    assert_eq!(stream.honored(), Some(&tools()));
    assert_eq!(
        stream.handle_message(Incoming::Changed(ServerEvent::PromptsListChanged)),
        None
    );
    assert_eq!(stream.handle_message(Incoming::Changed(updated("a"))), None);
}

#[test]
fn an_update_may_name_a_part_of_what_was_subscribed_to() {
    let mut stream = open_stream(SubscriptionFilter {
        resource_subscriptions: vec![uri("note://a")],
        ..SubscriptionFilter::default()
    });
    let part = updated("note://a/1");
    let notice = stream.handle_message(Incoming::Changed(part.clone()));
    assert_eq!(notice, Some(Notice::Changed(part)));
}

#[test]
fn nothing_is_told_before_the_ack_or_twice() {
    let mut stream = ClientStream::new(id("1"), tools());
    assert_eq!(
        stream.handle_message(Incoming::Changed(ServerEvent::ToolsListChanged)),
        None
    );
    assert_eq!(stream.honored(), None);
    let mut stream = open_stream(tools());
    assert_eq!(stream.handle_message(Incoming::Acknowledged(tools())), None);
}

#[test]
fn a_stream_ends_once_and_tells_how() {
    let refused = ClientEnd::Refused {
        code: -32_603,
        text: "full".to_owned(),
    };
    for (incoming, end) in [
        (Incoming::Result, ClientEnd::Graceful),
        (Incoming::Cancelled, ClientEnd::Lost),
        (Incoming::Invalid, ClientEnd::Lost),
        (
            Incoming::Refused {
                code: -32_603,
                text: "full".to_owned(),
            },
            refused,
        ),
    ] {
        for mut stream in [ClientStream::new(id("1"), tools()), open_stream(tools())] {
            let notice = stream.handle_message(incoming.clone());
            assert_eq!(notice, Some(Notice::Ended(end.clone())));
            assert!(stream.is_ended());
            assert_eq!(stream.handle_message(Incoming::Result), None);
            assert_eq!(stream.handle_lost(), None);
            assert_eq!(
                stream.cancel(),
                None,
                "only what is still open is cancelled"
            );
        }
    }
}

#[test]
fn a_malformed_message_is_told_and_the_subscription_can_be_cancelled() {
    let mut stream = open_stream(tools());
    assert_eq!(
        stream.handle_message(Incoming::Malformed),
        Some(Notice::Malformed)
    );
    assert_eq!(stream.cancel(), Some(message::cancelled(&id("1"))));
    assert_eq!(
        stream.handle_message(Incoming::Changed(ServerEvent::ToolsListChanged)),
        None
    );
}

#[test]
fn a_malformed_message_is_told_only_in_its_place() {
    let mut stream = ClientStream::new(id("1"), tools());
    assert_eq!(stream.handle_message(Incoming::Malformed), None);
    assert_eq!(
        stream.handle_message(Incoming::MalformedAcknowledgment),
        Some(Notice::Malformed)
    );
    let mut stream = open_stream(tools());
    assert_eq!(
        stream.handle_message(Incoming::MalformedAcknowledgment),
        None,
        "the first acknowledgment holds"
    );
    assert_eq!(stream.honored(), Some(&tools()));
}

#[test]
fn lines_reach_the_subscription_that_they_name_and_no_other() {
    let mut client = client();
    for raw in ["1", "\"1\""] {
        assert!(client.listen(id(raw), tools(), None).is_some());
        let notice = Notice::Acknowledged(tools());
        let ack = message::acknowledged(&id(raw), &tools());
        assert_eq!(
            hear(&mut client, &ack),
            [ClientInput::Notice(id(raw), notice)]
        );
    }
    let changed = |raw: &str| message::notification(&id(raw), &ServerEvent::ToolsListChanged);
    let notice = Notice::Changed(ServerEvent::ToolsListChanged);
    assert_eq!(
        hear(&mut client, &changed("\"1\"")),
        [ClientInput::Notice(id("\"1\""), notice)]
    );
    assert_eq!(
        hear(&mut client, &changed("2")),
        [],
        "of a subscription that is not ours"
    );
}

#[test]
fn what_comes_after_a_cancel_is_nobodys() {
    let mut client = client();
    client.listen(id("1"), tools(), None);
    let cancel = message::cancelled(&id("1")) + "\n";
    assert_eq!(client.cancel(&id("1")), Some(cancel));
    assert_eq!(client.cancel(&id("1")), None);
    assert_eq!(
        hear(&mut client, &message::acknowledged(&id("1"), &tools())),
        []
    );
    assert_eq!(client.subscriptions(), 0);
}

#[test]
fn an_id_in_use_cannot_be_used_again() {
    let mut client = client();
    assert!(client.listen(id("1"), tools(), None).is_some());
    assert_eq!(client.listen(id("1"), tools(), None), None);
    assert!(client.listen(id("\"1\""), tools(), None).is_some());
}

#[test]
fn everything_else_is_for_the_client_s_own_session() {
    let mut client = client();
    client.listen(id("1"), tools(), None);
    for line in [
        "",
        "garbage",
        "[]",
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/unheard_of","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
        &message::cancelled(&id("3")),
    ] {
        let bytes = format!("{line}\n").into_bytes();
        assert_eq!(
            hear(&mut client, line),
            [ClientInput::Forward(bytes)],
            "{line}"
        );
    }
    assert_eq!(
        hear(&mut client, &"x".repeat(100_001)),
        [ClientInput::TooLong]
    );
}

#[test]
fn the_exit_of_the_server_loses_every_subscription_that_has_not_ended() {
    let mut client = client();
    for raw in ["1", "2", "3"] {
        client.listen(id(raw), tools(), None);
    }
    let graceful = Notice::Ended(ClientEnd::Graceful);
    let result = message::listen_result(&id("2"), None);
    assert_eq!(
        hear(&mut client, &result),
        [ClientInput::Notice(id("2"), graceful)]
    );
    assert_eq!(client.handle_exit(), [lost("1"), lost("3")]);
    assert_eq!(client.handle_exit(), []);
}

#[test]
fn a_new_process_is_asked_again_for_what_had_not_ended_with_new_ids() {
    let mut client = client();
    let mut ids = Ids::default();
    let (one, two) = (ids.mint(), ids.mint());
    client.listen(one.clone(), tools(), None);
    client.listen(two.clone(), tools(), None);
    hear(&mut client, &message::listen_result(&two, None));
    client.handle_bytes(b"half a li");
    let renewed = client.handle_restart(&mut ids, None);
    let [Renewed { former, id, line }] = renewed.as_slice() else {
        panic!("{renewed:?}");
    };
    assert_eq!(*former, one);
    assert!(![one.clone(), two].contains(id), "{id}");
    let request = message::listen_request(id, &tools(), None);
    assert_eq!(*line, request + "\n");
    assert_eq!(
        hear(&mut client, &message::acknowledged(&one, &tools())),
        [],
        "nothing comes under the former id"
    );
    assert_eq!(
        hear(&mut client, &message::acknowledged(id, &tools())),
        [ClientInput::Notice(
            id.clone(),
            Notice::Acknowledged(tools())
        )],
        "and the half line of the former process is not its beginning"
    );
}

#[test]
fn minted_ids_are_strings_and_differ() {
    let mut ids = Ids::default();
    let minted: Vec<String> = (0..3).map(|_| ids.mint().raw().to_owned()).collect();
    assert_eq!(
        minted,
        ["\"mcp-listen:1\"", "\"mcp-listen:2\"", "\"mcp-listen:3\""]
    );
    assert_eq!(RequestId::from_text("a\"\n").raw(), r#""a\"\n""#);
}
