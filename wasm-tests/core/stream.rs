use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::RequestId,
    listen::{ServerStream, StreamOutput},
    message,
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_event, any_filter, check, is_of_same_key, task, task_id, updated, uri};

const T0: Millis = Millis(0);

fn id() -> RequestId {
    RequestId::from_raw("\"s\"", 256).unwrap()
}

fn filter() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("a"), uri("b")],
        task_ids: vec![task_id("a"), task_id("t")],
        ..SubscriptionFilter::default()
    }
}

fn opening() -> ServerStream {
    ServerStream::new(id(), filter(), Millis(15_000), T0)
}

fn open() -> ServerStream {
    let mut stream = opening();
    stream.handle_attached(T0);
    assert_eq!(drain(&mut stream), [ack()]);
    stream
}

fn drain(stream: &mut ServerStream) -> Vec<StreamOutput> {
    std::iter::from_fn(|| stream.poll_output(T0)).collect()
}

fn ack() -> StreamOutput {
    StreamOutput::Message(message::acknowledged(&id(), &filter()))
}

fn cue(event: &ServerEvent) -> StreamOutput {
    StreamOutput::Message(message::notification(&id(), event))
}

fn result() -> StreamOutput {
    StreamOutput::Message(message::listen_result(&id(), None))
}

#[test]
fn nothing_is_written_before_the_bus_has_confirmed() {
    let mut stream = opening();
    stream.handle_event(&ServerEvent::ToolsListChanged);
    stream.handle_timeout(Millis(1_000_000));
    assert_eq!(stream.poll_output(T0), None);
    assert_eq!(stream.poll_timeout(), None);
    assert!(stream.is_opening());
}

#[test]
fn ack_is_first_and_events_of_the_opening_follow_it() {
    let mut stream = opening();
    stream.handle_event(&updated("b"));
    stream.handle_attached(T0);
    assert_eq!(drain(&mut stream), [ack(), cue(&updated("b"))]);
}

#[test]
fn a_second_confirmation_changes_nothing() {
    let mut stream = open();
    stream.handle_attached(T0);
    assert_eq!(drain(&mut stream), []);
}

#[test]
fn what_is_not_honored_is_never_sent() {
    let mut stream = open();
    stream.handle_event(&ServerEvent::PromptsListChanged);
    stream.handle_event(&ServerEvent::ResourcesListChanged);
    stream.handle_event(&updated("c"));
    assert_eq!(drain(&mut stream), []);
}

#[test]
fn pending_cues_collapse_and_keep_their_place() {
    let mut stream = open();
    for event in [
        updated("b"),
        ServerEvent::ToolsListChanged,
        updated("b"),
        updated("a"),
        updated("b"),
    ] {
        stream.handle_event(&event);
    }
    assert_eq!(stream.pending_cues(), 3);
    assert_eq!(
        drain(&mut stream),
        [
            cue(&updated("b")),
            cue(&ServerEvent::ToolsListChanged),
            cue(&updated("a"))
        ]
    );
}

#[test]
fn the_latest_task_state_waits_in_the_place_of_the_first() {
    let working = task(r#"{"taskId":"t","status":"working"}"#);
    let completed = task(r#"{"taskId":"t","status":"completed","result":{}}"#);
    let mut stream = open();
    for event in [&working, &updated("a"), &completed] {
        stream.handle_event(event);
    }
    assert_eq!(stream.pending_cues(), 2);
    assert_eq!(drain(&mut stream), [cue(&completed), cue(&updated("a"))]);
    stream.handle_event(&completed);
    assert_eq!(drain(&mut stream), [cue(&completed)]);
}

#[test]
fn a_task_and_a_resource_of_one_name_are_two_topics() {
    let of_task = task(r#"{"taskId":"a","status":"working"}"#);
    let mut stream = open();
    stream.handle_event(&of_task);
    stream.handle_event(&updated("a"));
    stream.handle_event(&task(r#"{"taskId":"b","status":"working"}"#));
    assert_eq!(drain(&mut stream), [cue(&of_task), cue(&updated("a"))]);
}

#[test]
fn a_change_after_its_cue_was_sent_is_cued_again() {
    let mut stream = open();
    stream.handle_event(&updated("a"));
    assert_eq!(stream.poll_output(T0), Some(cue(&updated("a"))));
    stream.handle_event(&updated("a"));
    assert_eq!(drain(&mut stream), [cue(&updated("a"))]);
}

#[test]
fn a_million_events_leave_one_cue_per_topic() {
    let mut stream = open();
    for _ in 0..500_000 {
        stream.handle_event(&updated("a"));
        stream.handle_event(&updated("b"));
    }
    assert_eq!(stream.pending_cues(), 2);
}

#[test]
fn close_drains_then_sends_the_result_then_ends() {
    let mut stream = open();
    stream.handle_event(&updated("a"));
    stream.close();
    stream.handle_event(&updated("b"));
    assert_eq!(
        drain(&mut stream),
        [cue(&updated("a")), result(), StreamOutput::End]
    );
    stream.close();
    stream.handle_event(&updated("a"));
    assert_eq!(drain(&mut stream), []);
}

#[test]
fn close_before_the_ack_still_acknowledges_first() {
    let mut stream = opening();
    stream.handle_attached(T0);
    stream.close();
    assert_eq!(drain(&mut stream), [ack(), result(), StreamOutput::End]);
}

#[test]
fn close_before_the_confirmation_ends_silently() {
    let mut stream = opening();
    stream.close();
    assert_eq!(drain(&mut stream), [StreamOutput::End]);
}

#[test]
fn abort_ends_without_result_and_pending_cues() {
    let mut stream = open();
    stream.handle_event(&updated("a"));
    stream.abort();
    assert_eq!(drain(&mut stream), [StreamOutput::End]);
    stream.abort();
    assert_eq!(drain(&mut stream), []);
}

#[test]
fn the_result_names_the_server() {
    let info = r#"{"name":"n","version":"v"}"#.to_owned();
    let mut stream = opening().with_server_info(Some(info.as_str().into()));
    stream.handle_attached(T0);
    stream.close();
    let outputs = drain(&mut stream);
    assert_eq!(
        outputs[1],
        StreamOutput::Message(message::listen_result(&id(), Some(&info)))
    );
}

#[test]
fn silence_sends_a_keep_alive_and_writes_postpone_it() {
    let mut stream = open();
    assert_eq!(stream.poll_timeout(), Some(Millis(15_000)));
    stream.handle_timeout(Millis(14_999));
    assert_eq!(stream.poll_output(Millis(14_999)), None);
    stream.handle_event(&updated("a"));
    assert_eq!(stream.poll_output(Millis(14_999)), Some(cue(&updated("a"))));
    assert_eq!(stream.poll_timeout(), Some(Millis(29_999)));
    stream.handle_timeout(Millis(29_999));
    assert_eq!(stream.poll_timeout(), None);
    assert_eq!(
        stream.poll_output(Millis(30_000)),
        Some(StreamOutput::KeepAlive)
    );
    assert_eq!(stream.poll_output(Millis(30_000)), None);
    assert_eq!(stream.poll_timeout(), Some(Millis(45_000)));
}

#[test]
fn a_cue_replaces_a_due_keep_alive() {
    let mut stream = open();
    stream.handle_timeout(Millis(15_000));
    stream.handle_event(&updated("a"));
    assert_eq!(drain(&mut stream), [cue(&updated("a"))]);
}

#[test]
fn no_interval_means_no_keep_alive() {
    let mut stream = ServerStream::new(id(), filter(), Millis(0), T0);
    stream.handle_attached(T0);
    drain(&mut stream);
    assert_eq!(stream.poll_timeout(), None);
}

#[derive(Clone, Debug)]
enum Step {
    Event(ServerEvent),
    Attached,
    Poll,
    Timeout,
    Close,
    Abort,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => any_event().prop_map(Step::Event),
        2 => Just(Step::Attached),
        12 => Just(Step::Poll),
        2 => Just(Step::Timeout),
        1 => Just(Step::Close),
        1 => Just(Step::Abort),
    ]
}

/// Checks an output against those before it, and takes its cue from the `expected` ones.
fn assert_follows(
    written: &[StreamOutput],
    output: &StreamOutput,
    honored: &SubscriptionFilter,
    expected: &mut Vec<ServerEvent>,
) {
    assert_ne!(
        written.last(),
        Some(&StreamOutput::End),
        "something after the end"
    );
    if written.is_empty() && *output != StreamOutput::End {
        let ack = message::acknowledged(&id(), honored);
        assert_eq!(*output, StreamOutput::Message(ack), "the ack is first");
    } else if *output == result() {
        assert_eq!(*expected, [], "cues were still pending at the result");
    } else if matches!(output, StreamOutput::Message(_)) {
        let first = cue(&expected.remove(0));
        assert_eq!(*output, first, "first pending, first out");
    }
}

/// Checks each step of a stream against what was published.
#[test]
fn any_sequence_of_inputs_keeps_the_promises() {
    check(
        (any_filter(), vec(any_step(), 0..80)),
        |(honored, steps)| {
            let mut stream = ServerStream::new(id(), honored.clone(), Millis(10), T0);
            let mut expected: Vec<ServerEvent> = Vec::new();
            let mut written: Vec<StreamOutput> = Vec::new();
            let (mut takes_events, mut is_attached) = (true, false);
            for (now, step) in (0u64..).zip(steps) {
                match step {
                    Step::Event(event) => {
                        stream.handle_event(&event);
                        if takes_events && honored.accepts(&event) {
                            match expected.iter_mut().find(|one| is_of_same_key(one, &event)) {
                                Some(waiting) => *waiting = event,
                                None => expected.push(event),
                            }
                        }
                    }
                    Step::Attached => {
                        is_attached |= takes_events;
                        stream.handle_attached(Millis(now));
                    }
                    Step::Timeout => stream.handle_timeout(Millis(now + 10)),
                    Step::Close => {
                        if !is_attached {
                            expected.clear();
                        }
                        takes_events = false;
                        stream.close();
                    }
                    Step::Abort => {
                        takes_events = false;
                        expected.clear();
                        stream.abort();
                    }
                    Step::Poll => {
                        if let Some(output) = stream.poll_output(Millis(now)) {
                            assert_follows(&written, &output, &honored, &mut expected);
                            written.push(output);
                        }
                    }
                }
                assert_eq!(stream.pending_cues(), expected.len());
            }
        },
    );
}
