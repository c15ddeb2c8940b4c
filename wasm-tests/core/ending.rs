use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::RequestId,
    listen::{EndReason, ServerStream, StreamKind, StreamOutput},
    message,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{updated, uri};

const T0: Millis = Millis(0);
const MINUTE: Millis = Millis(60_000);

fn id() -> RequestId {
    RequestId::from_raw("1", 256).unwrap()
}

fn filter() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("a")],
        ..SubscriptionFilter::default()
    }
}

/// A stream with a stall limit of a minute, acknowledged at 0.
fn open(keep_alive: Millis) -> ServerStream {
    let mut stream = ServerStream::new(id(), filter(), keep_alive, T0);
    stream.stall_after(MINUTE);
    stream.handle_attached(T0);
    assert!(matches!(
        stream.poll_output(T0),
        Some(StreamOutput::Message(_))
    ));
    stream
}

fn rest(stream: &mut ServerStream) -> Vec<StreamOutput> {
    std::iter::from_fn(|| stream.poll_output(T0)).collect()
}

fn cue() -> StreamOutput {
    StreamOutput::Message(message::notification(&id(), &ServerEvent::ToolsListChanged))
}

fn result() -> StreamOutput {
    StreamOutput::Message(message::listen_result(&id(), None))
}

#[test]
fn a_client_that_reads_nothing_for_a_minute_is_dropped() {
    let mut stream = open(Millis(15_000));
    stream.handle_timeout(Millis(15_000));
    stream.handle_blocked(Millis(15_000));
    assert_eq!(stream.poll_timeout(), Some(Millis(75_000)));
    stream.handle_timeout(Millis(74_999));
    assert_eq!(stream.end_reason(), None);
    stream.handle_timeout(Millis(75_000));
    assert_eq!(stream.end_reason(), Some(EndReason::Stalled));
    assert_eq!(rest(&mut stream), [StreamOutput::End]);
}

#[test]
fn the_stall_timer_starts_with_the_first_blocked_write() {
    let mut stream = open(T0);
    stream.handle_blocked(Millis(10));
    assert_eq!(stream.poll_timeout(), None, "nothing waits");
    stream.handle_event(&ServerEvent::ToolsListChanged);
    stream.handle_blocked(Millis(1_000));
    stream.handle_event(&updated("a"));
    stream.handle_blocked(Millis(30_000));
    assert_eq!(stream.poll_timeout(), Some(Millis(61_000)));
}

#[test]
fn a_read_restarts_the_stall_timer() {
    let mut stream = open(T0);
    stream.handle_event(&ServerEvent::ToolsListChanged);
    stream.handle_event(&updated("a"));
    stream.handle_blocked(T0);
    assert_eq!(stream.poll_output(Millis(59_000)), Some(cue()));
    assert_eq!(stream.poll_timeout(), None);
    stream.handle_blocked(Millis(59_000));
    stream.handle_timeout(Millis(60_000));
    assert_eq!(stream.end_reason(), None);
    stream.handle_timeout(Millis(119_000));
    assert_eq!(stream.end_reason(), Some(EndReason::Stalled));
}

#[test]
fn without_a_stall_limit_a_slow_client_is_never_dropped() {
    let mut stream = open(T0);
    stream.stall_after(T0);
    stream.handle_event(&ServerEvent::ToolsListChanged);
    stream.handle_blocked(T0);
    assert_eq!(stream.poll_timeout(), None);
    stream.handle_timeout(Millis(u64::MAX));
    assert_eq!(rest(&mut stream), [cue()]);
}

#[test]
fn a_stream_retires_after_pending_cues_without_a_result() {
    for why in [EndReason::Rotated, EndReason::Drained] {
        let mut stream = open(T0);
        stream.retire_at(Millis(500), why);
        assert_eq!(stream.poll_timeout(), Some(Millis(500)));
        stream.handle_event(&ServerEvent::ToolsListChanged);
        stream.handle_timeout(Millis(499));
        assert_eq!(stream.end_reason(), None);
        stream.handle_timeout(Millis(500));
        assert_eq!(rest(&mut stream), [cue(), StreamOutput::End]);
        assert_eq!(stream.end_reason(), Some(why));
    }
}

#[test]
fn the_earlier_retirement_applies() {
    let mut stream = open(T0);
    stream.retire_at(Millis(500), EndReason::Rotated);
    stream.retire_at(Millis(400), EndReason::Drained);
    stream.retire_at(Millis(900), EndReason::Exhausted);
    assert_eq!(stream.poll_timeout(), Some(Millis(400)));
    stream.handle_timeout(Millis(1_000));
    assert_eq!(stream.end_reason(), Some(EndReason::Drained));
}

#[test]
fn a_filter_that_drops_pending_cues_stops_the_stall_timer() {
    let mut stream = open(T0);
    stream.handle_event(&updated("a"));
    stream.handle_blocked(T0);
    stream.handle_filter(SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    });
    stream.handle_timeout(MINUTE);
    assert_eq!(stream.end_reason(), None);
}

#[test]
fn a_client_that_stalls_while_its_stream_retires_or_closes_is_dropped() {
    let ends: [fn(&mut ServerStream); 2] = [
        |stream| stream.retire(EndReason::Drained),
        ServerStream::close,
    ];
    for end in ends {
        let mut stream = open(T0);
        end(&mut stream);
        stream.handle_blocked(Millis(5));
        stream.handle_timeout(Millis(60_005));
        assert_eq!(rest(&mut stream), [StreamOutput::End]);
        assert_eq!(stream.end_reason(), Some(EndReason::Stalled));
    }
}

#[test]
fn a_graceful_end_differs_from_an_abort() {
    let mut stream = open(T0);
    stream.close();
    assert_eq!(rest(&mut stream), [result(), StreamOutput::End]);
    stream.abort();
    assert_eq!(stream.end_reason(), Some(EndReason::Closed));

    let mut stream = open(T0);
    stream.close();
    stream.abort();
    assert_eq!(rest(&mut stream), [StreamOutput::End]);
    assert_eq!(stream.end_reason(), Some(EndReason::Aborted));
}

#[test]
fn the_first_cause_decides_how_a_stream_ends() {
    let mut stream = open(T0);
    stream.retire(EndReason::Rotated);
    stream.close();
    assert_eq!(rest(&mut stream), [StreamOutput::End]);

    let mut stream = open(T0);
    stream.close();
    stream.retire(EndReason::Rotated);
    assert_eq!(rest(&mut stream), [result(), StreamOutput::End]);
}

#[test]
fn an_unregistered_stream_just_ends() {
    let mut stream = ServerStream::new(id(), filter(), T0, T0);
    stream.retire_at(Millis(5), EndReason::Drained);
    assert_eq!(stream.poll_timeout(), None);
    stream.handle_timeout(Millis(5));
    assert_eq!(rest(&mut stream), [StreamOutput::End]);
    assert_eq!(stream.end_reason(), Some(EndReason::Drained));
}

#[test]
fn the_stream_of_a_session_always_ends_silently() {
    for why in [EndReason::Closed, EndReason::Rotated] {
        let mut stream = ServerStream::with_kind(StreamKind::Session, filter(), T0, T0);
        stream.handle_attached(T0);
        assert_eq!(stream.poll_output(T0), Some(StreamOutput::Opened));
        stream.retire(why);
        assert_eq!(rest(&mut stream), [StreamOutput::End]);
        assert_eq!(stream.end_reason(), Some(why));
    }
}

#[test]
fn an_expired_caller_gets_no_cues_and_no_result() {
    let mut stream = open(Millis(0));
    stream.expire_at(Millis(500));
    stream.handle_event(&updated("a"));
    assert_eq!(stream.poll_timeout(), Some(Millis(500)));
    stream.handle_timeout(Millis(499));
    assert!(stream.is_open());
    stream.handle_timeout(Millis(500));
    assert_eq!(stream.end_reason(), Some(EndReason::Expired));
    assert_eq!(rest(&mut stream), [StreamOutput::End]);
}

#[test]
fn a_caller_that_expires_during_a_drain_gets_no_cues() {
    let mut stream = open(Millis(0));
    stream.expire_at(Millis(500));
    stream.handle_event(&updated("a"));
    stream.close();
    assert_eq!(stream.poll_timeout(), Some(Millis(500)));
    stream.handle_timeout(Millis(500));
    assert_eq!(stream.end_reason(), Some(EndReason::Expired));
    assert_eq!(rest(&mut stream), [StreamOutput::End]);
}
