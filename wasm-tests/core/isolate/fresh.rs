//! Which of the events published just before it opened a stream receives.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use mcp_listen::{
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::EndReason,
    scope::{Name, Scope},
};

use crate::any::updated;

use super::{cues, opened, tools, watching};

fn ann() -> Name {
    Name::new("ann").unwrap()
}

fn of_ann(filter: SubscriptionFilter) -> SubscriptionFilter {
    let scope = Scope {
        principals: vec![ann()],
        ..Scope::default()
    };
    SubscriptionFilter { scope, ..filter }
}

fn disconnected() -> ServerEvent {
    ServerEvent::Disconnect { principal: ann() }
}

#[test]
fn a_replayed_disconnect_ends_a_stream_authorized_before_it() {
    let mut world = opened(&[of_ann(tools())]);
    world.move_on();
    world.open(of_ann(tools()));
    world.publish(&disconnected());
    world.settle();
    let endings = world.streams.iter().map(|stream| stream.ending);
    assert_eq!(endings.collect::<Vec<_>>(), [Some(EndReason::Denied); 2]);
}

#[test]
fn a_disconnect_refuses_a_waiting_stream() {
    let mut world = opened(&[of_ann(tools())]);
    let waiting = world.open(of_ann(watching(&["b"])));
    world.carry_out();
    world.publish(&disconnected());
    world.settle();
    assert!(!world.streams[waiting].is_acknowledged());
    assert!(world.streams[waiting].has_ended);
}

#[test]
fn a_stream_ignores_events_before_the_reply_that_it_waited_for() {
    let mut world = opened(&[watching(&["a", "b"])]);
    // The connection moves, so everything comes from a replay; a stream opens meanwhile.
    world.move_on();
    world.publish(&updated("a"));
    world.publish(&updated("b"));
    let waiting = world.open(watching(&["b"]));
    world.settle();
    assert_eq!([cues(&world, 0), cues(&world, waiting)], [2, 0]);
    // Once acknowledged, it receives everything.
    for count in 1..3 {
        world.publish(&updated("b"));
        world.settle();
        assert_eq!([cues(&world, 0), cues(&world, waiting)], [2 + count, count]);
    }
}

#[test]
fn a_stream_that_waited_for_a_change_ignores_events_before_its_reply() {
    let mut world = opened(&[watching(&["a"])]);
    world.publish(&updated("b"));
    let waiting = world.open(watching(&["b"]));
    world.settle();
    assert!(world.streams[waiting].is_acknowledged());
    // The isolate has received nothing since it attached: the bus replays from there.
    world.move_on();
    world.settle();
    assert_eq!(cues(&world, waiting), 0);
    world.publish(&updated("b"));
    world.settle();
    assert_eq!(cues(&world, waiting), 1);
}

#[test]
fn a_stream_ignores_replayed_events_before_its_head() {
    let mut world = opened(&[watching(&["a", "b"])]);
    world.publish(&updated("b"));
    world.down.clear();
    let ahead = world.open(watching(&["b", "c"]));
    world.settle();
    assert!(world.streams[ahead].is_acknowledged());
    // The event after the lost one reveals the gap, and the bus replays both.
    world.publish(&updated("c"));
    world.pass(5_000);
    let reported = &world.streams[ahead].written[1..];
    assert_eq!(cues(&world, 0), 1);
    assert!(
        !reported.is_empty() && reported.iter().all(|cue| !cue.contains("\"b")),
        "{reported:?}"
    );
    world.publish(&updated("b"));
    world.settle();
    assert!(world.streams[ahead].expected.is_empty());
}

#[test]
fn a_stream_opened_during_a_replay_receives_only_later_events() {
    let mut world = opened(&[watching(&["a", "b"])]);
    world.move_on();
    world.publish(&updated("a"));
    world.publish(&updated("b"));
    world.carry_out();
    world.take_up();
    // The reply and the first replayed event have arrived.
    let frames: Vec<String> = world.down.drain(..).collect();
    world.down.extend(frames[..2].iter().cloned());
    world.settle();
    let within = world.open(watching(&["b"]));
    world.carry_out();
    assert!(world.streams[within].is_acknowledged());
    world.down.extend(frames[2..].iter().cloned());
    world.settle();
    assert_eq!([cues(&world, 0), cues(&world, within)], [2, 0]);
    // This event was lost and requested again; it was published after the acknowledgment.
    world.publish(&updated("b"));
    world.down.clear();
    world.move_on();
    world.settle();
    assert_eq!([cues(&world, 0), cues(&world, within)], [3, 1]);
}
