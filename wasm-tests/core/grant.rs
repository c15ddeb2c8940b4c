use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    fanout::{Fanout, StreamId},
    filter::SubscriptionFilter,
    listen::{EndReason, ServerStream, StreamOutput},
    message, sse,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{id, updated, uri};

const T0: Millis = Millis(0);
const SPAN: Millis = Millis(30_000);
const FRESH: Millis = Millis(29_999);

fn filter() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("a")],
        ..SubscriptionFilter::default()
    }
}

/// A stream that was authorized at 0 and is acknowledged.
fn open() -> ServerStream {
    let mut stream = ServerStream::new(id("1"), filter(), Millis(15_000), T0);
    stream.grant_for(SPAN, T0);
    stream.handle_attached(T0);
    assert!(matches!(
        stream.poll_output(T0),
        Some(StreamOutput::Message(_))
    ));
    stream
}

fn cue(event: &ServerEvent) -> StreamOutput {
    StreamOutput::Message(message::notification(&id("1"), event))
}

fn rest(stream: &mut ServerStream, now: Millis) -> Vec<StreamOutput> {
    std::iter::from_fn(|| stream.poll_output(now)).collect()
}

#[test]
fn a_valid_grant_needs_no_authorization() {
    let mut stream = open();
    stream.handle_event(&updated("a"));
    assert_eq!(rest(&mut stream, FRESH), [cue(&updated("a"))]);
    assert_eq!(stream.poll_question(), None);
}

#[test]
fn an_idle_stream_sends_keep_alives_without_authorization() {
    let mut stream = open();
    stream.handle_timeout(SPAN);
    assert_eq!(rest(&mut stream, SPAN), [StreamOutput::KeepAlive]);
    assert_eq!(stream.poll_question(), None);
}

#[test]
fn what_the_host_writes_waits_for_authorization_too() {
    let mut stream = open();
    assert!(stream.may_send(FRESH));
    assert_eq!(stream.poll_question(), None);
    assert!(!stream.may_send(SPAN));
    assert!(!stream.may_send(SPAN));
    assert_eq!(stream.poll_question().as_deref(), Some(&filter()));
    assert!(!stream.may_send(SPAN));
    assert_eq!(stream.poll_question(), None);
    stream.handle_granted(&filter(), SPAN);
    assert!(stream.may_send(SPAN));
}

#[test]
fn a_cue_waits_for_authorization_and_later_events_collapse() {
    let mut stream = open();
    stream.handle_event(&updated("a"));
    assert_eq!(rest(&mut stream, SPAN), []);
    assert_eq!(stream.poll_question().as_deref(), Some(&filter()));
    for _ in 0..3 {
        stream.handle_event(&updated("a"));
    }
    assert_eq!(rest(&mut stream, SPAN), []);
    assert_eq!(stream.poll_question(), None, "one question at a time");
    stream.handle_granted(&filter(), Millis(31_000));
    assert_eq!(
        rest(&mut stream, Millis(31_000)),
        [cue(&updated("a"))],
        "one cue for all"
    );
    stream.handle_event(&updated("a"));
    assert_eq!(rest(&mut stream, Millis(60_999)), [cue(&updated("a"))]);
    stream.handle_event(&updated("a"));
    assert_eq!(rest(&mut stream, Millis(61_000)), []);
    assert!(stream.poll_question().is_some());
}

#[test]
fn a_caller_with_fewer_rights_gets_no_cues_and_no_result() {
    for allowed in [
        SubscriptionFilter {
            tools_list_changed: true,
            ..SubscriptionFilter::default()
        },
        SubscriptionFilter::default(),
    ] {
        let mut stream = open();
        stream.handle_event(&ServerEvent::ToolsListChanged);
        assert_eq!(rest(&mut stream, SPAN), []);
        stream.poll_question();
        stream.handle_granted(&allowed, SPAN);
        assert_eq!(stream.end_reason(), Some(EndReason::Denied));
        assert_eq!(rest(&mut stream, SPAN), [StreamOutput::End]);
    }
}

#[test]
fn a_caller_with_more_rights_gets_only_what_was_honored() {
    let mut stream = open();
    stream.handle_event(&updated("a"));
    assert_eq!(rest(&mut stream, SPAN), []);
    stream.poll_question();
    let more = SubscriptionFilter {
        prompts_list_changed: true,
        ..filter()
    };
    stream.handle_granted(&more, SPAN);
    assert_eq!(rest(&mut stream, SPAN), [cue(&updated("a"))]);
}

#[test]
fn a_denied_caller_gets_no_cues_and_no_result() {
    let mut stream = open();
    stream.handle_event(&updated("a"));
    assert_eq!(rest(&mut stream, SPAN), []);
    stream.poll_question();
    stream.handle_denied();
    assert_eq!(stream.end_reason(), Some(EndReason::Denied));
    assert_eq!(rest(&mut stream, SPAN), [StreamOutput::End]);
}

#[test]
fn an_unrequested_authorization_renews_nothing() {
    let mut stream = open();
    stream.handle_granted(&filter(), FRESH);
    stream.handle_event(&updated("a"));
    assert_eq!(rest(&mut stream, SPAN), []);
    assert!(stream.poll_question().is_some());
}

#[test]
fn a_closing_stream_waits_for_authorization() {
    let mut stream = open();
    stream.handle_event(&updated("a"));
    stream.close();
    assert_eq!(rest(&mut stream, SPAN), []);
    stream.poll_question();
    assert_eq!(rest(&mut stream, SPAN), []);
    stream.handle_granted(&filter(), SPAN);
    let result = StreamOutput::Message(message::listen_result(&id("1"), None));
    assert_eq!(
        rest(&mut stream, SPAN),
        [cue(&updated("a")), result, StreamOutput::End]
    );
}

#[test]
fn a_client_does_not_stall_during_authorization() {
    let mut stream = open();
    stream.stall_after(Millis(1_000));
    stream.handle_event(&updated("a"));
    assert_eq!(rest(&mut stream, SPAN), []);
    stream.handle_blocked(SPAN);
    stream.handle_timeout(Millis(31_000));
    assert_eq!(stream.end_reason(), None);
}

/// A stream of a fan-out that was authorized at 0 and is acknowledged.
fn fanned(fanout: &mut Fanout) -> StreamId {
    let mut stream = ServerStream::new(id("1"), filter(), T0, T0);
    stream.grant_for(SPAN, T0);
    let opened = fanout.open(stream, T0);
    fanout.handle_attached(opened, T0);
    fanout.poll(opened, T0);
    opened
}

#[test]
fn a_publish_skips_streams_with_a_stale_grant_and_names_them_once() {
    let mut fanout = Fanout::default();
    let stream = fanned(&mut fanout);
    assert!(!fanout.publish(updated("a"), FRESH, FRESH).is_empty());
    assert_eq!(fanout.take_due(), []);
    assert!(fanout.publish(updated("a"), SPAN, SPAN).is_empty());
    assert_eq!(fanout.take_due(), [stream]);
    assert_eq!(fanout.poll(stream, SPAN), None);
    assert!(fanout.poll_question(stream).is_some());
    let both = vec![updated("a"), ServerEvent::ToolsListChanged];
    assert!(fanout.publish_all(both, SPAN, SPAN).is_empty());
    assert_eq!(fanout.take_due(), []);
    fanout.with_stream(stream, |stream| stream.handle_granted(&filter(), SPAN));
    let mut cues = Vec::new();
    for event in [updated("a"), ServerEvent::ToolsListChanged] {
        cues.extend(sse::event(&message::notification(&id("1"), &event)));
    }
    assert_eq!(fanout.poll(stream, SPAN), Some(cues));
    assert!(!fanout.publish(updated("a"), SPAN, SPAN).is_empty());
}
