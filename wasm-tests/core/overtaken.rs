//! Frames that arrive out of order.

use mcp_listen::{event::ServerEvent, filter::SubscriptionFilter, message, upstream::Timeouts};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{id, task, task_id, updated},
    isolate::World,
};

/// Delivers a frame, and nothing else.
fn receive(world: &mut World, frame: &str) {
    world.isolate.handle_message(frame, world.now).unwrap();
    world.deliver();
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
    let mut world = World::of_one(filter, Timeouts::default());
    for state in &states {
        world.publish(state);
    }
    (world, states)
}

#[test]
fn the_state_of_a_task_never_goes_back() {
    let (mut world, states) = states();
    while let Some(frame) = world.down.pop_back() {
        receive(&mut world, &frame);
    }
    let last = message::notification(&id("1"), &states[2]);
    assert_eq!(world.read(), [last.as_str()]);
    world.pass(0);
    assert_eq!(world.read(), [last]);
}

#[test]
fn an_overtaken_task_state_after_the_reply_is_dropped() {
    let (mut world, states) = states();
    let late: Vec<String> = world.down.drain(..2).collect();
    let newest = world.down.pop_front().unwrap();
    receive(&mut world, &newest);
    let last = message::notification(&id("1"), &states[2]);
    assert_eq!(world.read(), [last.as_str()]);
    world.carry_out();
    world.take_up();
    let attached = world.down.pop_front().unwrap();
    receive(&mut world, &attached);
    for frame in &late {
        receive(&mut world, frame);
    }
    assert_eq!(world.read(), [""; 0]);
    world.pass(10_000);
    let said = world.read();
    assert!(!said.is_empty());
    assert!(said.iter().all(|written| *written == last));
    // Later states are delivered.
    world.publish(&task(r#"{"taskId":"t","status":"completed","ttlMs":4}"#));
    let next = world.down.pop_front().unwrap();
    receive(&mut world, &next);
    assert_eq!(world.read().len(), 1);
}

#[test]
fn a_task_state_at_a_position_that_the_log_has_not_reached_hides_no_later_state() {
    let (mut world, states) = states();
    let first = world.down.pop_front().unwrap();
    let wrong = first
        .replace("\"previous\":0", "\"previous\":900")
        .replace("\"through\":1", "\"through\":901")
        .replace("\"position\":1", "\"position\":901");
    assert_ne!(wrong, first);
    receive(&mut world, &wrong);
    world.pass(10_000);
    let last = message::notification(&id("1"), &states[2]);
    assert_eq!(world.read().last(), Some(&last));
}

#[test]
fn an_unwanted_event_does_not_move_the_cursor_before_the_reply() {
    let filter = SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    };
    let mut world = World::of_session(filter);
    world.watch("c");
    world.down.clear();
    world.publish(&updated("c"));
    let frame = world.down[0].clone();
    for _ in 0..2 {
        receive(&mut world, &frame);
    }
    world.down.clear();
    let said = world.said();
    assert_eq!(said.len(), 1);
    assert!(said[0].contains(&message::plain_notification(&updated("c"))));
}

#[test]
fn a_lost_change_of_interest_is_detected_at_the_next_event() {
    let mut world = World::of_session(SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    });
    world.watch("c");
    world.down.clear();
    world.publish(&updated("c"));
    let said = world.said();
    assert_eq!(said.len(), 1);
    assert!(said[0].contains(&message::plain_notification(&updated("c"))));
    assert_eq!(world.isolate.counts().gaps, 1);
}
