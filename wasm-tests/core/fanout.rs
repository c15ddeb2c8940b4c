use std::sync::Arc;

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    fanout::{Fanout, StreamId, WriteBatch},
    filter::SubscriptionFilter,
    listen::{EndReason, ServerStream},
    message,
    scope::{Name, Scope},
    sse,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{id, task, task_id, updated, uri};

pub(crate) const T0: Millis = Millis(0);
pub(crate) const TOOLS: ServerEvent = ServerEvent::ToolsListChanged;

pub(crate) fn tools() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    }
}

fn watching(name: &str) -> SubscriptionFilter {
    SubscriptionFilter {
        resource_subscriptions: vec![uri(name)],
        ..SubscriptionFilter::default()
    }
}

/// Adds a stream that the bus has confirmed.
fn attached(fanout: &mut Fanout, stream: ServerStream, now: Millis) -> StreamId {
    let opened = fanout.open(stream, now);
    fanout.handle_attached(opened, now);
    opened
}

/// Opens a stream and writes its acknowledgment.
pub(crate) fn open(fanout: &mut Fanout, raw_id: &str, filter: &SubscriptionFilter) -> StreamId {
    let stream = ServerStream::new(id(raw_id), filter.clone(), Millis(15_000), T0);
    let opened = attached(fanout, stream, T0);
    let ack = sse::event(&message::acknowledged(&id(raw_id), filter));
    assert_eq!(fanout.poll(opened, T0), Some(ack));
    opened
}

pub(crate) fn cue(raw_id: &str, event: &ServerEvent) -> Vec<u8> {
    sse::event(&message::notification(&id(raw_id), event))
}

/// Returns each chunk with its streams.
fn groups(batch: &WriteBatch) -> Vec<(Vec<u8>, Vec<StreamId>)> {
    let places = 0..batch.ends.len();
    let group = |place| {
        let of_place = batch.writes.iter().filter(|(_, chunk)| *chunk == place);
        let streams = of_place.map(|(stream, _)| *stream);
        (batch.chunk(place).to_vec(), streams.collect())
    };
    places.map(group).collect()
}

pub(crate) fn streams(batch: &WriteBatch) -> Vec<StreamId> {
    batch.writes.iter().map(|(stream, _)| *stream).collect()
}

#[test]
fn an_event_is_encoded_once_for_each_subscription_id() {
    let mut fanout = Fanout::default();
    let one = open(&mut fanout, "1", &tools());
    let text = open(&mut fanout, "\"1\"", &tools());
    let two = open(&mut fanout, "1", &tools());
    let batch = fanout.publish(TOOLS, T0, T0);
    assert_eq!(
        groups(&batch),
        [
            (cue("1", &TOOLS), vec![one, two]),
            (cue("\"1\"", &TOOLS), vec![text])
        ]
    );
}

#[test]
fn an_event_goes_to_those_that_honor_it() {
    let mut fanout = Fanout::default();
    let a = open(&mut fanout, "1", &watching("a"));
    open(&mut fanout, "1", &watching("b"));
    open(&mut fanout, "1", &tools());
    assert_eq!(streams(&fanout.publish(updated("a"), T0, T0)), [a]);
    assert_eq!(fanout.publish(updated("c"), T0, T0), WriteBatch::default());
}

#[test]
fn events_before_the_acknowledgment_follow_it() {
    let mut fanout = Fanout::default();
    let opened = fanout.open(ServerStream::new(id("1"), tools(), T0, T0), T0);
    assert_eq!(fanout.publish(TOOLS, T0, T0), WriteBatch::default());
    assert_eq!(fanout.poll(opened, T0), None);
    fanout.handle_attached(opened, T0);
    assert_eq!(fanout.publish(TOOLS, T0, T0), WriteBatch::default());
    let mut bytes = sse::event(&message::acknowledged(&id("1"), &tools()));
    bytes.extend(cue("1", &TOOLS));
    assert_eq!(fanout.poll(opened, T0), Some(bytes));
}

#[test]
fn a_stream_without_room_keeps_one_cue_per_topic() {
    let mut fanout = Fanout::default();
    let mut filter = tools();
    filter.resource_subscriptions.push(uri("a"));
    let slow = open(&mut fanout, "1", &filter);
    let missed = streams(&fanout.publish(TOOLS, T0, T0));
    assert_eq!(missed, [slow]);
    fanout.handle_missed(missed, T0);
    assert_eq!(fanout.publish(updated("a"), T0, T0), WriteBatch::default());
    assert_eq!(fanout.publish(TOOLS, T0, T0), WriteBatch::default());
    let mut bytes = cue("1", &TOOLS);
    bytes.extend(cue("1", &updated("a")));
    assert_eq!(fanout.poll(slow, T0), Some(bytes));
    assert_eq!(streams(&fanout.publish(TOOLS, T0, T0)), [slow]);
}

#[test]
fn a_removed_stream_gets_nothing_and_its_slot_is_reused() {
    let mut fanout = Fanout::default();
    let gone = open(&mut fanout, "1", &tools());
    assert_eq!(fanout.remove(gone), None);
    assert!(fanout.is_empty());
    assert_eq!(fanout.publish(TOOLS, T0, T0), WriteBatch::default());
    assert_eq!(fanout.poll_timeout(), None);
    let next = open(&mut fanout, "2", &watching("a"));
    assert_eq!(next.slot(), gone.slot());
    assert_eq!(fanout.publish(TOOLS, T0, T0), WriteBatch::default());
    assert_eq!(
        groups(&fanout.publish(updated("a"), T0, T0)),
        [(cue("2", &updated("a")), vec![next])]
    );
}

#[test]
fn one_deadline_covers_all_streams() {
    let mut fanout = Fanout::default();
    let one = open(&mut fanout, "1", &tools());
    let two = open(&mut fanout, "1", &watching("a"));
    fanout.with_stream(two, |stream| {
        stream.retire_at(Millis(5_000), EndReason::Drained);
    });
    assert_eq!(fanout.poll_timeout(), Some(Millis(5_000)));
    assert_eq!(fanout.handle_timeout(Millis(5_000)), [two]);
    assert_eq!(fanout.poll(two, Millis(5_000)), None);
    assert_eq!(fanout.remove(two), Some(EndReason::Drained));
    fanout.publish(TOOLS, Millis(6_000), Millis(6_000));
    assert_eq!(fanout.handle_timeout(Millis(15_000)), []);
    assert_eq!(fanout.poll_timeout(), Some(Millis(21_000)));
    assert_eq!(fanout.handle_timeout(Millis(21_000)), [one]);
    let keep_alive = fanout.poll(one, Millis(21_000));
    assert_eq!(keep_alive.as_deref(), Some(sse::KEEP_ALIVE));
}

#[test]
fn a_stalled_stream_is_due_at_its_deadline() {
    let mut fanout = Fanout::default();
    let mut stream = ServerStream::new(id("1"), tools(), T0, T0);
    stream.stall_after(Millis(100));
    let slow = attached(&mut fanout, stream, T0);
    fanout.poll(slow, T0);
    let missed = streams(&fanout.publish(TOOLS, Millis(10), Millis(10)));
    fanout.handle_missed(missed, Millis(10));
    assert_eq!(fanout.poll_timeout(), Some(Millis(110)));
    assert_eq!(fanout.handle_timeout(Millis(110)), [slow]);
    assert_eq!(fanout.remove(slow), Some(EndReason::Stalled));
}

#[test]
fn an_unread_acknowledgment_stalls_from_the_first_event() {
    let mut fanout = Fanout::default();
    let mut stream = ServerStream::new(id("1"), tools(), T0, T0);
    stream.stall_after(Millis(100));
    let unread = attached(&mut fanout, stream, T0);
    assert_eq!(fanout.poll_timeout(), None);
    fanout.publish(TOOLS, Millis(10), Millis(10));
    assert_eq!(fanout.poll_timeout(), Some(Millis(110)));
    assert_eq!(fanout.handle_timeout(Millis(110)), [unread]);
    assert_eq!(fanout.remove(unread), Some(EndReason::Stalled));
}

#[test]
fn several_events_are_one_chunk_per_stream_encoded_once() {
    let mut fanout = Fanout::default();
    let mut both = tools();
    both.resource_subscriptions.push(uri("a"));
    let one = open(&mut fanout, "1", &both);
    let only_tools = open(&mut fanout, "1", &tools());
    let two = open(&mut fanout, "1", &both);
    let other_id = open(&mut fanout, "2", &both);
    let batch = fanout.publish_all(
        vec![updated("a"), TOOLS, updated("a"), updated("b")],
        T0,
        T0,
    );
    let chunk = |id| [cue(id, &updated("a")), cue(id, &TOOLS)].concat();
    let expected = [
        (chunk("1"), vec![one, two]),
        (cue("1", &TOOLS), vec![only_tools]),
        (chunk("2"), vec![other_id]),
    ];
    assert_eq!(groups(&batch), expected);
}

#[test]
fn the_latest_state_of_a_task_takes_the_place_of_the_first() {
    let mut fanout = Fanout::default();
    let mut filter = tools();
    filter.task_ids.push(task_id("t"));
    open(&mut fanout, "1", &filter);
    let state = |status: &str| task(&format!(r#"{{"taskId":"t","status":"{status}"}}"#));
    let batch = fanout.publish_all(vec![state("working"), TOOLS, state("completed")], T0, T0);
    let chunk = [cue("1", &state("completed")), cue("1", &TOOLS)].concat();
    assert_eq!(batch.bytes, chunk);
}

#[test]
fn a_stream_without_room_keeps_the_cues_of_several_events() {
    let mut fanout = Fanout::default();
    let slow = open(&mut fanout, "1", &tools());
    let missed = fanout.publish_all(vec![updated("a"), TOOLS, TOOLS], T0, T0);
    fanout.handle_missed(streams(&missed), T0);
    assert_eq!(fanout.poll(slow, T0), Some(cue("1", &TOOLS)));
    assert_eq!(fanout.poll(slow, T0), None);
}

#[test]
fn after_a_gap_everything_honored_is_cued_once_and_streams_with_tasks_end() {
    let mut fanout = Fanout::default();
    let mut filter = tools();
    filter.resource_subscriptions.push(uri("a"));
    let one = open(&mut fanout, "1", &filter);
    filter.task_ids.push(task_id("t"));
    let with_task = open(&mut fanout, "2", &filter);
    fanout.handle_gap();
    let cues = [cue("1", &TOOLS), cue("1", &updated("a"))].concat();
    assert_eq!(fanout.poll(one, T0), Some(cues));
    assert_eq!(fanout.poll(with_task, T0), None);
    assert_eq!(fanout.remove(with_task), Some(EndReason::Lost));
}

#[test]
fn a_stream_that_honors_nothing_is_acknowledged_and_ends() {
    let mut fanout = Fanout::default();
    let nothing = SubscriptionFilter::default();
    let opened = fanout.open(ServerStream::new(id("1"), nothing.clone(), T0, T0), T0);
    let mut bytes = sse::event(&message::acknowledged(&id("1"), &nothing));
    bytes.extend(sse::event(&message::listen_result(&id("1"), None)));
    assert_eq!(fanout.poll(opened, T0), Some(bytes));
    assert_eq!(fanout.remove(opened), Some(EndReason::Closed));
}

#[test]
fn reused_topics_and_ids_lead_to_their_streams() {
    let mut fanout = Fanout::default();
    for round in 0..3 {
        let names: Vec<String> = (0..4).map(|place| format!("{round}-{place}")).collect();
        let streams = names
            .iter()
            .map(|name| open(&mut fanout, &format!("\"{name}\""), &watching(name)));
        let streams: Vec<StreamId> = streams.collect();
        for (name, stream) in names.iter().zip(&streams) {
            let frame = cue(&format!("\"{name}\""), &updated(name));
            let batch = fanout.publish(updated(name), T0, T0);
            assert_eq!(groups(&batch), [(frame, vec![*stream])]);
        }
        for stream in streams {
            fanout.remove(stream);
        }
    }
}

#[test]
fn an_old_id_never_reaches_a_new_stream() {
    let mut fanout = Fanout::default();
    let old = open(&mut fanout, "1", &tools());
    fanout.remove(old);
    let new = open(&mut fanout, "2", &tools());
    assert_ne!(new, old);
    fanout.with_stream(old, |stream| {
        stream.close();
    });
    fanout.handle_filter(old, watching("a"));
    fanout.handle_scope(old, Scope::default());
    fanout.handle_missed([old], T0);
    assert_eq!(fanout.poll(old, T0), None);
    assert!(fanout.stream(old).is_none());
    assert_eq!(fanout.remove(old), None);
    assert_eq!(streams(&fanout.publish(TOOLS, T0, T0)), [new]);
    assert_eq!(fanout.len(), 1);
}

#[test]
fn a_caller_receives_events_of_its_new_groups_only() {
    let mut fanout = Fanout::default();
    let one = open(&mut fanout, "1", &tools());
    let name = |text: &str| Name::new(text).unwrap();
    let reached = |fanout: &mut Fanout, group: &str| {
        let event = ServerEvent::ForGroup {
            group: name(group),
            event: Box::new(TOOLS),
        };
        streams(&fanout.publish(event, T0, T0))
    };
    assert_eq!(reached(&mut fanout, "a"), []);
    for (now, before) in [("a", "b"), ("b", "a")] {
        let groups = vec![name(now)];
        fanout.handle_scope(
            one,
            Scope {
                groups,
                ..Scope::default()
            },
        );
        assert_eq!(reached(&mut fanout, now), [one]);
        assert_eq!(reached(&mut fanout, before), []);
    }
}

#[test]
fn a_loss_at_close_ends_streams_of_named_callers_and_cues_others() {
    let mut fanout = Fanout::default();
    let mut stream = ServerStream::new(id("1"), tools(), Millis(15_000), T0);
    stream.scope_to(Scope {
        principals: vec![Name::new("ann").unwrap()],
        ..Scope::default()
    });
    let named = attached(&mut fanout, stream, T0);
    fanout.poll(named, T0);
    let other = open(&mut fanout, "2", &tools());
    fanout.handle_loss_at_close();
    assert_eq!(fanout.poll(named, T0), None);
    let ending = fanout.remove(named);
    assert!(
        ending.is_some_and(|ending| ending != EndReason::Closed),
        "{ending:?}"
    );
    assert_eq!(fanout.poll(other, T0), Some(cue("2", &TOOLS)));
}

#[test]
fn a_changed_filter_is_reindexed() {
    let mut fanout = Fanout::default();
    let one = open(&mut fanout, "1", &tools());
    fanout.handle_filter(one, watching("a"));
    assert_eq!(streams(&fanout.publish(updated("a"), T0, T0)), [one]);
    assert_eq!(fanout.publish(TOOLS, T0, T0), WriteBatch::default());
    fanout.remove(one);
    // It takes the slot of the stream and the number of its topic.
    open(&mut fanout, "2", &watching("b"));
    assert_eq!(fanout.publish(updated("a"), T0, T0), WriteBatch::default());
    assert_eq!(fanout.publish(TOOLS, T0, T0), WriteBatch::default());
}

#[test]
fn topics_kept_in_a_changed_filter_stay_indexed() {
    let mut fanout = Fanout::default();
    let one = open(&mut fanout, "1", &tools());
    let mut both = tools();
    both.resource_subscriptions.push(uri("a"));
    fanout.handle_filter(one, both);
    assert_eq!(streams(&fanout.publish(TOOLS, T0, T0)), [one]);
    assert_eq!(streams(&fanout.publish(updated("a"), T0, T0)), [one]);
    fanout.handle_filter(one, tools());
    assert_eq!(streams(&fanout.publish(TOOLS, T0, T0)), [one]);
    assert_eq!(fanout.publish(updated("a"), T0, T0), WriteBatch::default());
}

#[test]
fn a_shared_filter_is_released_with_its_last_stream() {
    let mut fanout = Fanout::default();
    let mut stream = ServerStream::new(id("1"), tools(), T0, T0);
    stream.grant_for(Millis(10), T0);
    let one = attached(&mut fanout, stream, T0);
    fanout.poll(one, T0);
    fanout.publish(TOOLS, Millis(20), Millis(20));
    fanout.poll(one, Millis(20));
    let asked = fanout.poll_question(one).unwrap();
    let held = Arc::downgrade(&asked);
    fanout.remove(one);
    drop(asked);
    assert!(held.upgrade().is_none(), "the filter is kept");
}
