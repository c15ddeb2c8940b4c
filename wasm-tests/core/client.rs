//! The client side of one subscription.

use mcp_listen::{
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::{Ids, RequestId},
    limits::Limits,
    listen::{ClientEndReason, ClientStream, Incoming, Notice},
    message,
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

#[test]
fn messages_of_our_server_are_read_back() {
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
fn responses_end_the_request_as_specified() {
    for (response, incoming) in [
        (r#""result":{}"#, Incoming::Result),
        (r#""result":{"resultType":"complete"}"#, Incoming::Result),
        (
            r#""result":{"resultType":"unknown-kind"}"#,
            Incoming::Invalid,
        ),
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
        let message = format!(r#"{{"jsonrpc":"2.0","id":"a",{response}}}"#);
        assert_eq!(read(&message), Some((id("\"a\""), incoming)), "{message}");
    }
}

#[test]
fn a_notification_without_a_required_member_is_malformed() {
    let meta = r#""_meta":{"io.modelcontextprotocol/subscriptionId":1}"#;
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
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{meta}{params}}}}}"#
        );
        assert_eq!(read(&message), Some((id("1"), incoming)), "{message}");
    }
}

#[test]
fn the_honored_filter_never_exceeds_the_request() {
    let mut stream = ClientStream::new(id("1"), tools());
    let more = SubscriptionFilter {
        prompts_list_changed: true,
        resource_subscriptions: vec![uri("a")],
        ..tools()
    };
    let notice = stream.handle_message(Incoming::Acknowledged(more));
    assert_eq!(notice, Some(Notice::Acknowledged(tools())));
    assert_eq!(
        stream.handle_message(Incoming::Changed(ServerEvent::PromptsListChanged)),
        None
    );
    assert_eq!(stream.handle_message(Incoming::Changed(updated("a"))), None);
}

#[test]
fn an_update_may_name_a_sub_resource() {
    let mut stream = open_stream(SubscriptionFilter {
        resource_subscriptions: vec![uri("note://a")],
        ..SubscriptionFilter::default()
    });
    let part = updated("note://a/1");
    let notice = stream.handle_message(Incoming::Changed(part.clone()));
    assert_eq!(notice, Some(Notice::Changed(part)));
}

#[test]
fn nothing_is_reported_before_the_ack_or_twice() {
    let mut stream = ClientStream::new(id("1"), tools());
    assert_eq!(
        stream.handle_message(Incoming::Changed(ServerEvent::ToolsListChanged)),
        None
    );
    let mut stream = open_stream(tools());
    assert_eq!(stream.handle_message(Incoming::Acknowledged(tools())), None);
}

#[test]
fn a_stream_ends_once_with_a_reason() {
    let refused = ClientEndReason::Refused {
        code: -32_603,
        text: "full".to_owned(),
    };
    for (incoming, end) in [
        (Incoming::Result, ClientEndReason::Graceful),
        (Incoming::Cancelled, ClientEndReason::Lost),
        (Incoming::Invalid, ClientEndReason::Lost),
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
            assert_eq!(
                stream.cancel(),
                None,
                "only what is still open is cancelled"
            );
        }
    }
}

#[test]
fn a_malformed_message_is_reported_and_the_subscription_can_be_cancelled() {
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
fn a_malformed_message_is_reported_only_in_its_state() {
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
