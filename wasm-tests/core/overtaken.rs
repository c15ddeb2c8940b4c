//! Frames that arrive out of order.

use mcp_listen::{
    clock::Millis, event::ServerEvent, filter::SubscriptionFilter, message, sse, upstream::Timeouts,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::alone::Frame;
use crate::{
    any::{id, task, task_id, updated, uri},
    world::World,
};

/// Delivers a frame, and nothing else.
fn receive(world: &mut World, frame: &str) {
    world.edge.handle_bus_message(frame, Millis(0)).unwrap();
}

/// Three states of a task are in flight to a stream that follows it.
fn states() -> (World, [ServerEvent; 3]) {
    let filter = SubscriptionFilter {
        task_ids: vec![task_id("t")],
        ..SubscriptionFilter::default()
    };
    let states = [1, 2, 3].map(|ttl| {
        task(&format!(
            r#"{{"taskId":"t","status":"working","ttlMs":{ttl}}}"#
        ))
    });
    let mut world = World::new(filter, Timeouts::default());
    for state in &states {
        world.publish(state);
    }
    (world, states)
}

#[test]
fn the_state_of_a_task_never_goes_back() {
    let (mut world, states) = states();
    while let Some(frame) = world.wire.pop_back() {
        receive(&mut world, &frame);
    }
    let Some(Frame::Bytes(bytes)) = world.edge.poll_frame(Millis(0)) else {
        panic!("nothing is written");
    };
    let last = message::notification(&id("1"), &states[2]);
    assert_eq!(bytes, sse::event(&last));
    world.pass(0);
    assert_eq!(world.written, [last]);
}

#[test]
fn an_overtaken_task_state_after_the_answer_is_dropped() {
    let (mut world, states) = states();
    let late: Vec<String> = world.wire.drain(..2).collect();
    let last = world.wire.pop_front().unwrap();
    receive(&mut world, &last);
    assert!(world.edge.poll_frame(Millis(0)).is_some());
    world.carry_out();
    let attached = world.wire.pop_front().unwrap();
    receive(&mut world, &attached);
    for frame in &late {
        receive(&mut world, frame);
    }
    assert_eq!(world.edge.poll_frame(Millis(0)), None);
    world.pass(10_000);
    let last = message::notification(&id("1"), &states[2]);
    assert!(!world.written.is_empty());
    assert!(world.written.iter().all(|written| *written == last));
    // Later states are delivered.
    world.publish(&task(r#"{"taskId":"t","status":"completed","ttlMs":4}"#));
    let next = world.wire.pop_front().unwrap();
    receive(&mut world, &next);
    assert!(world.edge.poll_frame(Millis(0)).is_some());
}

#[test]
fn an_unwanted_event_does_not_move_the_cursor_before_the_answer() {
    let filter = SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    };
    let mut world = World::of_session(filter);
    world.watch(vec![uri("c")]);
    world.wire.clear();
    world.publish(&updated("c"));
    let frame = world.wire[0].clone();
    for _ in 0..2 {
        receive(&mut world, &frame);
    }
    world.wire.clear();
    world.settle();
    assert_eq!(world.written.len(), 1);
    assert!(world.written[0].contains(&message::plain_notification(&updated("c"))));
}

#[test]
fn a_lost_change_of_interest_is_detected_at_the_next_event() {
    let mut world = World::of_session(SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    });
    world.watch(vec![uri("c")]);
    world.wire.clear();
    world.publish(&updated("c"));
    world.settle();
    assert_eq!(world.written.len(), 1);
    assert!(world.written[0].contains(&message::plain_notification(&updated("c"))));
    assert_eq!(world.edge.counts().gaps, 1);
}
