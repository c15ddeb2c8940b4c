use std::time::Duration;

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    message,
    upstream::{BusCall, OutageCounts, Timeouts},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::alone::{Alone, Frame};
use crate::{
    any::{id, task, task_id, updated, uri},
    follow,
    isolate::{Availability, World},
};

fn filter() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("a"), uri("b")],
        ..SubscriptionFilter::default()
    }
}

fn world() -> World {
    World::of_one(filter(), Timeouts::default())
}

fn cue(event: &ServerEvent) -> String {
    message::notification(&id("1"), event)
}

fn counts(world: &World) -> (u32, u32, u32) {
    let OutageCounts {
        healed,
        gaps,
        resyncs,
        ..
    } = world.isolate.counts();
    (healed, gaps, resyncs)
}

#[test]
fn a_stream_survives_the_loss_of_its_bus_and_receives_what_it_missed() {
    let mut world = world();
    world.publish(&updated("a"));
    assert_eq!(world.said(), [cue(&updated("a"))]);
    world.cut();
    assert!(world.isolate.is_away());
    for event in [updated("b"), updated("c"), updated("b")] {
        world.publish(&event);
    }
    world.pass(2_000);
    assert_eq!(world.said(), [cue(&updated("b"))]);
    assert!(!world.isolate.is_away());
    assert_eq!(counts(&world), (1, 0, 0));
    world.publish(&updated("a"));
    assert_eq!(world.said(), [cue(&updated("a"))]);
}

#[test]
fn pending_cues_are_sent_while_the_bus_is_away() {
    let mut world = world();
    world.publish(&updated("a"));
    world.take_down();
    world.availability = Availability::Down;
    world.cut();
    assert_eq!(world.said(), [cue(&updated("a"))]);
    assert!(!world.streams[0].has_ended);
}

#[test]
fn a_bus_with_a_new_epoch_cues_every_topic_once() {
    let mut world = world();
    world.publish(&updated("a"));
    world.said();
    world.start_over();
    world.publish(&updated("b"));
    world.pass(2_000);
    let everything = [ServerEvent::ToolsListChanged, updated("a"), updated("b")];
    assert_eq!(world.said(), everything.map(|event| cue(&event)));
    assert_eq!(counts(&world), (1, 0, 1));
}

#[test]
fn a_trimmed_log_cues_every_topic_once() {
    let mut world = world();
    world.publish(&updated("a"));
    world.said();
    for (missed, resyncs) in [(2, 0), (3, 1)] {
        world.cut();
        for _ in 0..missed {
            world.publish(&updated("a"));
        }
        world.log.trim(2);
        world.pass(2_000);
        let count = if resyncs == 0 { 1 } else { 3 };
        assert_eq!(world.said().len(), count);
        assert_eq!(counts(&world).2, resyncs);
    }
}

#[test]
fn a_stream_with_unreplayable_tasks_ends_without_a_result() {
    let filter = SubscriptionFilter {
        task_ids: vec![task_id("t")],
        ..filter()
    };
    let mut world = World::of_one(filter, Timeouts::default());
    let done = task(r#"{"taskId":"t","status":"completed"}"#);
    world.cut();
    world.publish(&done);
    world.pass(2_000);
    assert_eq!(world.said(), [cue(&done)]);
    world.start_over();
    world.pass(2_000);
    assert_eq!(world.said(), [""; 0]);
    assert!(world.streams[0].has_ended);
}

#[test]
fn a_lost_frame_is_detected_at_the_next_and_requested() {
    let mut world = world();
    world.publish(&updated("a"));
    world.down.clear();
    world.publish(&updated("b"));
    assert_eq!(world.said(), [cue(&updated("b")), cue(&updated("a"))]);
    assert_eq!(world.kinds(), [(Millis(0), BusCall::Ask)]);
    assert_eq!(counts(&world), (0, 1, 0));
    world.publish(&updated("a"));
    world.pass(60_000);
    assert_eq!(world.said(), [cue(&updated("a"))]);
    assert_eq!(world.calls.len(), 1);
}

#[test]
fn a_duplicate_frame_is_ignored() {
    let mut world = world();
    world.publish(&updated("a"));
    world.settle();
    world.publish(&updated("b"));
    let frame = world.down.front().unwrap().clone();
    for _ in 0..3 {
        world.down.push_back(frame.clone());
        world.settle();
    }
    assert_eq!(world.said(), [cue(&updated("a")), cue(&updated("b"))]);
    world.pass(60_000);
    assert_eq!(world.kinds(), []);
}

#[test]
fn reordered_frames_end_with_the_last_state() {
    let filter = SubscriptionFilter {
        task_ids: vec![task_id("t")],
        ..SubscriptionFilter::default()
    };
    let mut world = World::of_one(filter, Timeouts::default());
    let states = ["working", "completed"]
        .map(|status| task(&format!(r#"{{"taskId":"t","status":"{status}"}}"#)));
    for state in &states {
        world.publish(state);
    }
    world.down.swap(0, 1);
    world.settle();
    world.pass(0);
    assert_eq!(world.said().last(), Some(&cue(&states[1])));
    assert_eq!(counts(&world), (0, 1, 0));
}

#[test]
fn a_truncated_frame_is_requested_at_once() {
    let mut world = world();
    world.publish(&updated("a"));
    let whole = world.down.pop_front().unwrap();
    world.down.push_back(whole[..whole.len() - 1].to_owned());
    world.pass(0);
    assert_eq!(world.said(), [cue(&updated("a"))]);
    assert_eq!(world.kinds(), [(Millis(0), BusCall::Ask)]);
}

#[test]
fn an_inconsistency_during_a_request_is_probed_after_it() {
    let stream = mcp_listen::listen::ServerStream::new(id("1"), filter(), Millis(0), Millis(0));
    let mut edge = Alone::new(stream);
    let early = follow::batch(0, 1, &ServerEvent::ToolsListChanged);
    edge.attach_message();
    edge.handle_bus_message(&early, Millis(0)).unwrap_err();
    assert_eq!(edge.poll_call(Millis(0)), None);
    edge.handle_bus_message(&follow::attached(1, 0, 0), Millis(0))
        .unwrap();
    assert_eq!(edge.poll_call(Millis(0)), Some(BusCall::Ask));
    edge.handle_bus_message("{", Millis(0)).unwrap_err();
    edge.handle_bus_message(&follow::attached(2, 0, 0), Millis(0))
        .unwrap();
    assert_eq!(edge.poll_call(Millis(999)), None);
    assert_eq!(edge.poll_call(Millis(1_000)), Some(BusCall::Ask));
    edge.handle_bus_message(&follow::attached(3, 0, 0), Millis(1_000))
        .unwrap();
    assert_eq!(edge.poll_timeout(), None);
}

#[test]
fn a_persistent_gap_is_probed_once_a_second() {
    let mut world = world();
    for second in 1..=10 {
        for _ in 0..5 {
            world.down.push_back("{".to_owned());
            world.pass(200);
        }
        assert!(world.calls.len() <= second + 1);
    }
    assert!(world.calls.len() >= 9);
    assert!(world.kinds().iter().all(|(_, kind)| *kind == BusCall::Ask));
}

#[test]
fn an_unknown_kind_of_event_leaves_no_gap() {
    let mut world = world();
    world.publish(&updated("a"));
    let known = world.down.pop_front().unwrap();
    world
        .down
        .push_back(known.replace("resource_updated", "unheard_of"));
    world.publish(&updated("b"));
    world.pass(60_000);
    assert_eq!(world.said(), [cue(&updated("b"))]);
    assert_eq!(world.kinds(), []);
}

#[test]
fn messages_of_a_newer_bus_are_ignored() {
    let mut world = world();
    for frame in [
        r#"{"v":2,"type":"batch"}"#,
        r#"{"v":1,"type":"unknown-kind"}"#,
    ] {
        world.down.push_back(frame.to_owned());
    }
    world.pass(60_000);
    assert_eq!(world.kinds(), []);
}

#[test]
fn an_unawaited_reply_is_ignored() {
    let mut world = world();
    world.publish(&updated("a"));
    world.said();
    let before = world.isolate.cursor().cloned();
    for (seq, after) in [(1, 0), (1, 1), (1, 2), (2, 1), (9, 1)] {
        let reply = follow::attached(seq, after, after);
        world.down.push_back(reply.clone());
        world.down.push_back(reply.replace("\"e\"", "\"other\""));
        world.pass(1_000);
    }
    assert_eq!(world.kinds(), []);
    assert_eq!(counts(&world), (0, 0, 0));
    assert_eq!(world.isolate.cursor().cloned(), before);
    world.publish(&updated("a"));
    assert_eq!(world.said(), [cue(&updated("a"))]);
}

#[test]
fn a_silent_bus_is_probed_only_if_configured() {
    let timeouts = Timeouts {
        probe_interval: Duration::from_secs(10),
        ..Timeouts::default()
    };
    for (timeouts, asks) in [(Timeouts::default(), 0), (timeouts, 3)] {
        let mut world = World::of_one(filter(), timeouts);
        world.pass(5_000);
        world.publish(&updated("a"));
        world.settle();
        // An event in sequence proves as much as a reply.
        world.pass(9_999);
        assert_eq!(world.kinds(), []);
        world.publish(&updated("b"));
        world.down.clear();
        world.pass(1);
        assert_eq!(world.said().len(), if asks > 0 { 2 } else { 1 });
        world.pass(20_000);
        assert_eq!(world.calls.len(), asks);
        assert_eq!(counts(&world), (0, 0, 0));
    }
}

#[test]
fn a_bus_that_does_not_reply_is_lost() {
    let mut world = world();
    world.cut();
    world.availability = Availability::Silent;
    world.pass(2_000);
    assert!(world.is_connected());
    world.pass(5_000);
    let calls: Vec<BusCall> = world.kinds().into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(
        calls[..3],
        [BusCall::Attach, BusCall::Leave, BusCall::Attach]
    );
    world.availability = Availability::Open;
    world.publish(&updated("a"));
    world.pass(7_000);
    assert_eq!(world.said(), [cue(&updated("a"))]);
    assert_eq!(counts(&world), (1, 0, 0));
}

#[test]
fn frames_of_an_abandoned_connection_are_ignored() {
    let mut world = world();
    world.publish(&updated("a"));
    let frame = world.down.pop_front().unwrap();
    world.cut();
    assert!(world.isolate.handle_message(&frame, world.now).is_err());
    world.pass(2_000);
    assert_eq!(world.said(), [cue(&updated("a"))]);
}

#[test]
fn closing_while_the_bus_is_away_cues_everything() {
    let mut world = world();
    world.availability = Availability::Down;
    world.cut();
    world.publish(&updated("a"));
    world.close(0);
    let said = world.said();
    assert_eq!(said.len(), 4);
    assert!(world.streams[0].expected.is_empty());
    assert!(said[3].contains("\"result\""));
    world.pass(60_000);
    assert!(world.streams[0].has_ended);
    assert_eq!(world.kinds(), [], "what is closing does not come back");
}

#[test]
fn closing_without_a_gap_cues_nothing() {
    let mut world = world();
    world.close(0);
    assert_eq!(world.said().len(), 1);
}

#[test]
fn a_stream_ends_after_two_failed_attempts_to_attach() {
    let stream = mcp_listen::listen::ServerStream::new(id("1"), filter(), Millis(0), Millis(0));
    let mut edge = Alone::new(stream);
    for at in [Millis(0), Millis(5_000)] {
        assert_eq!(edge.poll_call(at), Some(BusCall::Attach));
        edge.handle_bus_lost(at, 0.0, false);
    }
    assert_eq!(edge.poll_frame(Millis(0)), Some(Frame::End));
    assert_eq!(edge.poll_timeout(), None);
    assert_eq!(edge.poll_call(Millis(60_000)), None);
}

#[test]
fn an_unwanted_event_is_probed_once() {
    let mut world = World::of_session(filter());
    for name in ["a", "b"] {
        world.watch(name);
    }
    world.settle();
    let unwanted = follow::batch(0, 1, &ServerEvent::PromptsListChanged);
    for _ in 0..3 {
        world.down.push_back(unwanted.clone());
        world.pass(60_000);
    }
    assert_eq!(world.kinds(), [(Millis(0), BusCall::Ask)]);
    assert_eq!(world.said(), [""; 0]);
    assert_eq!(world.isolate.cursor().unwrap().position.0, 1);
}

#[test]
fn a_duplicate_reply_to_an_earlier_attach_is_ignored() {
    let tasks = SubscriptionFilter {
        task_ids: vec![task_id("t")],
        ..filter()
    };
    let mut world = World::of_one(tasks, Timeouts::default());
    for _ in 0..3 {
        world.publish(&ServerEvent::PromptsListChanged);
    }
    let late = follow::attached(1, 3, 3);
    world.down.extend(["{".to_owned(), late.clone(), late]);
    let event = task(r#"{"taskId":"t","status":"working"}"#);
    assert_eq!(world.said(), [""; 0]);
    assert_eq!(world.kinds(), [(Millis(0), BusCall::Ask)]);
    world.publish(&event);
    assert_eq!(world.said(), [cue(&event)]);
    assert!(!world.streams[0].has_ended);
    assert_eq!(counts(&world).2, 0);
}
