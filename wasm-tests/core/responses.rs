//! The responses of a server to a listen request over HTTP, and how the client handles them.

use mcp_listen::{
    client::{CloseReason, Loss, SubscriptionOptions, SubscriptionOutput},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    http::Headers,
    id::RequestId,
    limits::Limits,
    message,
    sse::{Bounds, DecodeError},
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{check, updated},
    client::tools,
    subscription::{
        JSON, STREAM, ack, acknowledged, begun, change, lost, own_id, refused, reported,
        request_with, requested, responded, say, watched,
    },
};

#[test]
fn a_json_response_works_like_an_event_stream() {
    let error = r#"{"jsonrpc":"2.0","id":"mcp-listen:1","error":{"code":-32603,"message":"full"}}"#;
    let full = |status| [refused(status, Some(-32_603), "full")];
    assert_eq!(responded(503, JSON, error), full(503));
    assert_eq!(responded(200, JSON, error), full(200));
    let without_id = error.replace("\"mcp-listen:1\"", "null");
    assert_eq!(responded(503, JSON, &without_id), full(503));
    let without_id = error.replace("\"id\":\"mcp-listen:1\",", "");
    assert_eq!(responded(400, JSON, &without_id), full(400));
    let mut subscription = begun();
    say(&mut subscription, error);
    assert_eq!(reported(&mut subscription), full(200));
}

#[test]
fn an_error_for_another_request_is_ignored() {
    let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"full"}}"#;
    assert_eq!(responded(200, JSON, error), [lost(Loss::InvalidResponse)]);
    assert_eq!(responded(503, JSON, error), [refused(503, None, "")]);
    let mut subscription = begun();
    say(&mut subscription, error);
    assert_eq!(reported(&mut subscription), []);
}

#[test]
fn a_refusal_reports_its_status_with_any_body() {
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
            responded(401, fields, body),
            [refused(401, None, "")],
            "{body}"
        );
    }
}

#[test]
fn a_response_without_result_or_error_is_invalid() {
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
            r#"{"jsonrpc":"2.0","id":"mcp-listen:1","result":{"resultType":"unknown-kind"}}"#,
        ),
        (200, JSON, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#),
    ] {
        let invalid = [lost(Loss::InvalidResponse)];
        assert_eq!(responded(status, fields, body), invalid, "{body}");
    }
}

#[test]
fn a_result_in_place_of_the_acknowledgment_opens_empty_and_ends() {
    let result = message::listen_result(&own_id(), None);
    let closed = [
        SubscriptionOutput::Acknowledged(SubscriptionFilter::default()),
        SubscriptionOutput::Ended(CloseReason::Graceful),
    ];
    assert_eq!(responded(200, JSON, &result), closed);
    let mut subscription = begun();
    say(&mut subscription, &result);
    assert_eq!(reported(&mut subscription), closed);
}

#[test]
fn a_malformed_acknowledgment_is_an_error_and_cancels() {
    let meta = r#""_meta":{"io.modelcontextprotocol/subscriptionId":"mcp-listen:1"}"#;
    for filter in [
        "",
        ",\"notifications\":[]",
        ",\"notifications\":{\"toolsListChanged\":1}",
    ] {
        let mut subscription = begun();
        say(
            &mut subscription,
            &format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{{meta}{filter}}}}}"#
            ),
        );
        assert_eq!(
            reported(&mut subscription),
            [lost(Loss::MalformedAcknowledgment)]
        );
        assert!(subscription.is_ended(), "its response is to be closed");
        say(&mut subscription, &ack(&tools()));
        assert_eq!(reported(&mut subscription), []);
    }
}

#[test]
fn only_the_first_acknowledgment_counts_and_only_what_was_requested() {
    let mut subscription = begun();
    let more = SubscriptionFilter {
        prompts_list_changed: true,
        ..watched(&["a", "c"])
    };
    say(&mut subscription, &ack(&more));
    say(&mut subscription, &ack(&watched(&["a", "b"])));
    say(&mut subscription, &change(&ServerEvent::PromptsListChanged));
    assert_eq!(
        reported(&mut subscription),
        [SubscriptionOutput::Acknowledged(watched(&["a"]))]
    );
}

#[test]
fn changes_before_the_acknowledgment_or_of_other_subscriptions_are_ignored() {
    let mut subscription = begun();
    say(&mut subscription, &change(&ServerEvent::ToolsListChanged));
    say(
        &mut subscription,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    );
    let other = RequestId::from_text("mcp-listen:2");
    say(&mut subscription, &message::acknowledged(&other, &tools()));
    assert_eq!(reported(&mut subscription), []);
    let mut subscription = acknowledged();
    for message in [
        message::notification(&other, &ServerEvent::ToolsListChanged),
        message::listen_result(&other, None),
        message::cancelled(&other),
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned(),
    ] {
        say(&mut subscription, &message);
        assert_eq!(reported(&mut subscription), [], "{message}");
    }
}

#[test]
fn a_change_of_a_sub_resource_is_reported() {
    let mut subscription = acknowledged();
    say(&mut subscription, &change(&updated("a/1")));
    assert_eq!(
        reported(&mut subscription),
        [SubscriptionOutput::Changed(updated("a/1"))]
    );
    let mut subscription = begun();
    say(&mut subscription, &ack(&tools()));
    say(&mut subscription, &change(&updated("a")));
    assert_eq!(
        reported(&mut subscription),
        [SubscriptionOutput::Acknowledged(tools())]
    );
}

#[test]
fn unreadable_data_reports_every_honored_topic() {
    let meta = r#""_meta":{"io.modelcontextprotocol/subscriptionId":"mcp-listen:1"}"#;
    let without_uri = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{{meta}}}}}"#
    );
    let everything = [
        SubscriptionOutput::Changed(ServerEvent::ToolsListChanged),
        SubscriptionOutput::Changed(updated("a")),
        SubscriptionOutput::Changed(updated("b")),
    ];
    for message in [without_uri.as_str(), "garbage"] {
        let mut subscription = acknowledged();
        say(&mut subscription, message);
        assert_eq!(reported(&mut subscription), everything, "{message}");
    }
    let mut subscription = acknowledged();
    subscription.handle_bytes(b"data:\n\nevent: other\ndata: garbage\n\n", Millis(0));
    assert_eq!(reported(&mut subscription), [], "neither is a message");
}

#[test]
fn an_endless_json_response_times_out() {
    let mut subscription = requested();
    subscription.handle_head(200, &Headers::new(JSON), Millis(0));
    subscription.handle_timeout(subscription.poll_timeout().unwrap());
    assert_eq!(reported(&mut subscription), [lost(Loss::NotAcknowledged)]);
}

#[test]
fn the_size_of_server_messages_is_bounded() {
    let options = SubscriptionOptions {
        bounds: Bounds {
            line_bytes: 500,
            event_bytes: 500,
        },
        limits: Limits {
            body_bytes: 500,
            ..Limits::default()
        },
        ..SubscriptionOptions::default()
    };
    let mut subscription = request_with(options.clone());
    subscription.handle_head(200, &Headers::new(STREAM), Millis(0));
    subscription.handle_bytes(&[b'x'; 501], Millis(0));
    let too_long = lost(Loss::Stream(DecodeError::LineTooLong));
    assert_eq!(reported(&mut subscription), [too_long]);
    for (status, end) in [
        (200, lost(Loss::ResponseTooLarge)),
        (500, refused(500, None, "")),
    ] {
        let mut subscription = request_with(options.clone());
        subscription.handle_head(status, &Headers::new(JSON), Millis(0));
        subscription.handle_bytes(&[b' '; 500], Millis(0));
        assert!(!subscription.is_ended());
        subscription.handle_bytes(b" ", Millis(0));
        assert_eq!(reported(&mut subscription), [end]);
    }
}

#[test]
fn retry_after_is_kept_and_bounded() {
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

#[test]
fn any_response_bytes_are_handled() {
    check(
        (vec(any::<u8>(), 0..300), any::<bool>()),
        |(bytes, is_json)| {
            let mut subscription = requested();
            let fields = if is_json { JSON } else { STREAM };
            subscription.handle_head(200, &Headers::new(fields), Millis(0));
            subscription.handle_bytes(&bytes, Millis(0));
            subscription.handle_end();
            let reported = reported(&mut subscription);
            assert!(
                matches!(
                    reported.as_slice(),
                    [SubscriptionOutput::Ended(CloseReason::Lost(_))]
                ),
                "{reported:?}"
            );
        },
    );
}
