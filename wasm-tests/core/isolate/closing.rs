//! Streams of an isolate that are about to close.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::updated;

use super::{Availability, World, cues, opened, tools, watching};

#[test]
fn a_settled_isolate_has_delivered_everything_published_before() {
    let mut world = opened(&[watching(&["a"]), tools()]);
    world.publish(&updated("a"));
    world.down.clear();
    assert!(world.isolate.is_settled());
    world.isolate.settle(world.now);
    assert!(!world.isolate.is_settled());
    world.settle();
    assert!(world.isolate.is_settled());
    assert_eq!((cues(&world, 0), cues(&world, 1)), (1, 0));
    for stream in 0..2 {
        world.close(stream);
        assert!(world.streams[stream].has_ended);
    }
    assert_eq!(cues(&world, 1), 1, "the result alone");
}

#[test]
fn an_isolate_without_a_bus_is_not_settled() {
    let mut world = opened(&[tools()]);
    world.availability = Availability::Down;
    world.cut();
    world.isolate.settle(world.now);
    world.pass(1_000);
    assert!(!world.isolate.is_settled());
    world.availability = Availability::Open;
    world.pass(10_000);
    assert!(world.isolate.is_settled());
}

#[test]
fn a_connection_lost_during_a_replay_needs_another_reply_to_settle() {
    let mut world = opened(&[watching(&["a"])]);
    world.publish(&updated("a"));
    world.down.clear();
    world.isolate.settle(world.now);
    // The reply names a later head, and what it replays is lost.
    replied_without_replay(&mut world);
    world.carry_out();
    world.move_on();
    replied_without_replay(&mut world);
    assert!(!world.isolate.is_settled());
}

fn replied_without_replay(world: &mut World) {
    world.carry_out();
    world.take_up();
    world.down.truncate(1);
    world.take_down();
}
