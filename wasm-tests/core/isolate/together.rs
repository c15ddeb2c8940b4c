//! Events that the streams of an isolate get in one write.

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    fanout::StreamId,
    filter::SubscriptionFilter,
    isolate::{Isolate, IsolateOutput},
    listen::{EndReason, ServerStream},
    scope::{Name, Scope},
    upstream::Timeouts,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{id, updated},
    follow,
};

use super::watching;

const NOW: Millis = Millis(0);

/// An isolate with acknowledged streams of this filter.
fn isolate(filters: &[SubscriptionFilter]) -> (Isolate, Vec<StreamId>) {
    let mut isolate = Isolate::new(Timeouts::default(), NOW);
    let open = |filter: &SubscriptionFilter| {
        let stream = ServerStream::new(id("1"), filter.clone(), NOW, NOW);
        isolate.open(stream, NOW)
    };
    let ids = filters.iter().map(open).collect();
    while isolate.poll_call(NOW).is_some() {}
    attach(&mut isolate, 1, "e", 0);
    while let Some(output) = isolate.poll_output(NOW) {
        let IsolateOutput::Poll(attached) = output else {
            panic!("{output:?}");
        };
        for id in attached {
            while isolate.fanout().poll(id, NOW).is_some() {}
        }
    }
    (isolate, ids)
}

fn attach(isolate: &mut Isolate, seq: u64, epoch: &str, position: u64) {
    let attached = follow::attached(seq, position, position);
    let attached = attached.replace("\"e\"", &format!("\"{epoch}\""));
    isolate.handle_message(&attached, NOW).unwrap();
}

fn receive(isolate: &mut Isolate, events: impl IntoIterator<Item = (u64, ServerEvent)>) {
    for (position, event) in events {
        let batch = follow::batch(position - 1, position, &event);
        isolate.handle_message(&batch, NOW).unwrap();
    }
}

/// Returns the number of frames and their streams for each output.
fn written(isolate: &mut Isolate) -> Vec<Vec<(StreamId, usize)>> {
    let mut written = Vec::new();
    while let Some(IsolateOutput::Write(batch)) = isolate.poll_output(NOW) {
        let frames = |chunk: usize| {
            let text = String::from_utf8(batch.chunk(chunk).to_vec()).unwrap();
            text.matches("event: message").count()
        };
        let writes = batch.writes.iter();
        written.push(writes.map(|(id, chunk)| (*id, frames(*chunk))).collect());
    }
    written
}

fn numbered(names: &[&str]) -> Vec<(u64, ServerEvent)> {
    (1..).zip(names.iter().map(|name| updated(name))).collect()
}

#[test]
fn events_of_one_turn_are_one_write_with_one_frame_per_topic() {
    let (mut isolate, ids) = isolate(&[watching(&["a", "b"]), watching(&["b"])]);
    receive(&mut isolate, numbered(&["a", "b", "a", "b"]));
    assert_eq!(written(&mut isolate), [vec![(ids[0], 2), (ids[1], 1)]]);
    receive(&mut isolate, [(5, updated("a"))]);
    assert_eq!(written(&mut isolate), [vec![(ids[0], 1)]]);
}

#[test]
fn one_write_is_bounded_in_size() {
    let names: Vec<String> = (0..20)
        .map(|number| format!("{number}-{}", "x".repeat(2_000)))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (mut isolate, ids) = isolate(&[watching(&names)]);
    receive(&mut isolate, numbered(&names));
    let frames: Vec<usize> = written(&mut isolate)
        .iter()
        .map(|writes| writes[0].1)
        .collect();
    assert_eq!(frames, [7, 7, 6]);
    assert!(
        isolate
            .stream(ids[0])
            .is_some_and(|stream| stream.pending_cues() == 0)
    );
}

#[test]
fn one_write_is_bounded_in_frames_over_all_streams() {
    let names: Vec<String> = (0..240).map(|number| number.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (mut isolate, ids) = isolate(&vec![watching(&names); 300]);
    receive(&mut isolate, numbered(&names));
    let frames: Vec<usize> = written(&mut isolate)
        .iter()
        .map(|writes| writes.iter().map(|(_, frames)| frames).sum())
        .collect();
    assert!(frames.iter().all(|frames| *frames <= 65_536), "{frames:?}");
    assert_eq!(frames.iter().sum::<usize>(), ids.len() * names.len());
}

#[test]
fn a_gap_is_handled_after_earlier_events() {
    let (mut isolate, ids) = isolate(&[watching(&["a", "b"])]);
    receive(&mut isolate, [(1, updated("a"))]);
    isolate.handle_moved(NOW);
    while isolate.poll_call(NOW).is_some() {}
    attach(&mut isolate, 2, "other", 1);
    assert_eq!(written(&mut isolate), [vec![(ids[0], 1)]]);
    // The gap was polled after that: a resync.
    assert_eq!(
        isolate.stream(ids[0]).map(ServerStream::pending_cues),
        Some(2)
    );
}

#[test]
fn a_disconnected_caller_gets_nothing_more_of_a_batch() {
    let ann = Name::new("ann").unwrap();
    let (mut isolate, ids) = isolate(&[SubscriptionFilter {
        scope: Scope {
            principals: vec![ann.clone()],
            ..Scope::default()
        },
        ..watching(&["a", "b"])
    }]);
    let disconnected = ServerEvent::Disconnect { principal: ann };
    receive(
        &mut isolate,
        (1..).zip([disconnected, updated("a"), updated("b")]),
    );
    assert_eq!(written(&mut isolate), [vec![]]);
    assert_eq!(isolate.fanout().take_due(), [ids[0]]);
    assert_eq!(isolate.remove(ids[0]), Some(EndReason::Denied));
}
