//! Events that the streams of an isolate get in one write.

use std::sync::Arc;

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    fanout::{StreamId, WriteBatch},
    filter::SubscriptionFilter,
    isolate::{Isolate, IsolateOutput},
    listen::{EndReason, ServerStream},
    metrics::Metrics,
    scope::{Name, Scope},
    upstream::Timeouts,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{id, task, task_id, updated},
    follow,
};

use super::watching;

const NOW: Millis = Millis(0);

/// An isolate with an acknowledged stream for each filter.
fn isolate(filters: &[SubscriptionFilter]) -> (Isolate, Vec<StreamId>) {
    let stream = |filter: &SubscriptionFilter| stream("1", filter);
    isolate_of(filters.iter().map(stream))
}

fn isolate_of(streams: impl Iterator<Item = ServerStream>) -> (Isolate, Vec<StreamId>) {
    let mut isolate = Isolate::new(Timeouts::default(), NOW);
    let ids = streams.map(|stream| isolate.open(stream, NOW)).collect();
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

fn stream(subscription: &str, filter: &SubscriptionFilter) -> ServerStream {
    ServerStream::new(id(subscription), filter.clone(), NOW, NOW)
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
    let written = |batch: &WriteBatch| {
        let writes = batch.writes.iter();
        let writes = writes.map(|(id, chunk)| (*id, frames(batch, *chunk)));
        writes.collect()
    };
    batches(isolate).iter().map(written).collect()
}

fn batches(isolate: &mut Isolate) -> Vec<WriteBatch> {
    let mut batches = Vec::new();
    while let Some(IsolateOutput::Write(batch)) = isolate.poll_output(NOW) {
        batches.push(batch);
    }
    batches
}

/// Returns the number of frames in a chunk.
fn frames(batch: &WriteBatch, chunk: usize) -> usize {
    let text = str::from_utf8(batch.chunk(chunk)).unwrap();
    text.matches("event: message").count()
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
fn many_events_for_many_equal_streams_are_one_write() {
    let names = names();
    let (mut isolate, ids) = isolate(&vec![watching(&names); 4_000]);
    receive(&mut isolate, numbered(&names));
    let batches = batches(&mut isolate);
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].writes.len(), ids.len());
    assert_eq!(batches[0].ends.len(), 1);
    assert_eq!(frames(&batches[0], 0), names.len());
}

#[test]
fn one_write_is_bounded_in_bytes_over_streams_that_differ() {
    let names = names();
    let (mut isolate, ids) = isolate_of(distinct_streams(&names));
    let watched = ids
        .iter()
        .map(|id| isolate.stream(*id).unwrap().honored().topics());
    let watched: usize = watched.map(|topics| topics.len()).sum();
    receive(&mut isolate, numbered(&names));
    let batches = batches(&mut isolate);
    let bytes: Vec<usize> = batches.iter().map(|batch| batch.bytes.len()).collect();
    assert!(bytes.iter().all(|bytes| *bytes < 9 << 20), "{bytes:?}");
    assert!(bytes.len() > 1);
    let written = batches.iter().flat_map(|batch| {
        let chunks = batch.writes.iter().map(|(_, chunk)| *chunk);
        chunks.map(move |chunk| frames(batch, chunk))
    });
    assert_eq!(written.sum::<usize>(), watched);
}

#[test]
fn events_that_collapse_are_counted_in_a_later_write_too() {
    let (names, metrics) = (names(), Arc::<Metrics>::default());
    let (mut isolate, _) = isolate_of(distinct_streams(&names).map(|mut stream| {
        stream.count_in(metrics.clone());
        stream
    }));
    let last = names[names.len() - 1];
    receive(&mut isolate, numbered(&[&*names, &[last; 3]].concat()));
    assert!(batches(&mut isolate).len() > 1);
    assert_eq!(metrics.read().collapsed, 3 * SUBSCRIPTIONS.len() as u64);
}

/// Returns streams of which no two get the same bytes: each watches one name more than the one
/// before.
fn distinct_streams<'n>(names: &'n [&str]) -> impl Iterator<Item = ServerStream> + 'n {
    SUBSCRIPTIONS.into_iter().flat_map(|subscription| {
        let filters = (1..=names.len()).map(|count| watching(&names[..count]));
        filters.map(move |filter| stream(subscription, &filter))
    })
}

/// Returns names that are fanned out together.
fn names() -> Vec<&'static str> {
    let names = (0..240).map(|number| &*number.to_string().leak());
    names.collect()
}

const SUBSCRIPTIONS: [&str; 3] = ["1", "2", "3"];

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

#[test]
fn a_state_after_a_disconnect_is_not_written_before_it() {
    let ann = Name::new("ann").unwrap();
    let (mut isolate, _) = isolate(&[SubscriptionFilter {
        task_ids: vec![task_id("t")],
        scope: Scope {
            principals: vec![ann.clone()],
            ..Scope::default()
        },
        ..SubscriptionFilter::default()
    }]);
    let disconnected = ServerEvent::Disconnect { principal: ann };
    let states = ["working", "completed"].map(|status| {
        task(&format!(
            r#"{{"taskId":"t","status":"{status}","ttlMs":null}}"#
        ))
    });
    let [working, completed] = states;
    receive(&mut isolate, (1..).zip([working, disconnected, completed]));
    let batches = batches(&mut isolate);
    let written = str::from_utf8(batches[0].chunk(0)).unwrap();
    assert!(written.contains("working"), "{written}");
    assert!(!written.contains("completed"), "{written}");
}
