//! An isolate knows its room at the bus, and refuses streams that exceed it.

use mcp_listen::{
    filter::SubscriptionFilter,
    isolate::IsolateOutput,
    root::RootReceived,
    topic::{Topic, Topics},
    uri::Uri,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{any::updated, follow};

use super::{World, cues, scope::named, stream::Stream, watching};

/// An isolate at a bus that has room for 10,000 bytes of names per connection, with 200 bytes
/// reserved for each.
fn bounded() -> World {
    let mut world = World::new();
    world.root.bus_mut().set_room(320_000, 800);
    world.open(watching(&["a"]));
    world.settle();
    assert!(world.streams[0].is_acknowledged());
    world
}

fn large(cursor: &str, bytes: usize) -> SubscriptionFilter {
    watching(&[&format!(
        "{cursor}{}",
        "x".repeat(bytes - 64 - cursor.len())
    )])
}

/// More bytes than one connection may ever hold.
fn huge() -> SubscriptionFilter {
    let names: Vec<String> = (0..8)
        .map(|number| format!("{number}{}", "y".repeat(1_900)))
        .collect();
    watching(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Another connection requests this many large names.
fn rival(world: &mut World, number: usize, names: usize) {
    let name = |place| format!("{number}-{place}{}", "y".repeat(1_900));
    let names: Vec<String> = (0..names).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let edge = world.root.bus_mut().connect();
    let text = follow::fresh(1, &watching(&names)).to_json();
    let received = world.root.handle_message(edge, &text, world.now).unwrap();
    assert!(!matches!(received, RootReceived::Dropped(_)));
}

impl World {
    /// Others take this much of the room at the bus.
    fn crowd(&mut self, bytes: usize) {
        if let Some(other) = self.other.take() {
            self.root.disconnect(other, self.now).unwrap();
        }
        if bytes > 0 {
            let uri = Uri::new(&"x".repeat(bytes), bytes).unwrap();
            let occupied = Topics::from_iter([Topic::Resource(uri)]);
            self.other = self.root.restore(&occupied, None, 1, None).unwrap();
        }
    }
}

fn has_room(world: &mut World, filter: &SubscriptionFilter) -> bool {
    let now = world.now;
    world.isolate.has_room_for(filter, now)
}

#[test]
fn an_isolate_has_room_up_to_the_last_byte() {
    let mut world = bounded();
    assert_eq!(world.isolate.name_bytes(), 65);
    for cursor in ["b", "c", "d", "e"] {
        world.open(large(cursor, 2_000));
    }
    world.settle();
    assert!(world.streams.iter().all(Stream::is_acknowledged));
    let left = 10_000 - 65 - 8_000;
    assert!(has_room(&mut world, &large("f", left - 1)) && has_room(&mut world, &large("f", left)));
    assert!(!has_room(&mut world, &large("f", left + 1)));
    // Names that are present take no room.
    assert!(has_room(&mut world, &large("b", 2_000)));
}

#[test]
fn a_refused_stream_is_removed_and_others_continue() {
    let mut world = bounded();
    world.crowd(319_000);
    let stream = world.open(large("b", 2_000));
    let small = world.open(watching(&["a"]));
    world.settle();
    assert_eq!(world.sent().1, 1);
    assert!(world.streams[stream].has_ended);
    assert!(world.streams[small].is_acknowledged());
    assert_eq!(world.isolate.name_bytes(), 65);
    world.publish(&updated("a"));
    world.settle();
    assert_eq!([0, small].map(|stream| cues(&world, stream)), [1, 1]);
    assert_eq!(world.sent().0, 1);
}

#[test]
fn a_refused_follow_is_not_sent_again_while_its_stream_is_still_held() {
    let mut world = bounded();
    world.crowd(319_000);
    world.open(large("b", 2_000));
    world.carry_out();
    world.take_up();
    let refusal = world.down.pop_front().unwrap();
    world.isolate.handle_message(&refusal, world.now).unwrap();
    assert_eq!(world.isolate.poll_call(world.now), None);
}

#[test]
fn the_topics_of_a_refused_stream_are_not_dropped_at_the_bus() {
    let mut world = bounded();
    world.crowd(319_000);
    let names: Vec<String> = (0..1_001).map(|number| format!("b{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let stream = world.open(watching(&names));
    world.settle();
    assert!(world.streams[stream].has_ended);
    assert_eq!(world.sent(), (1, 1));
}

#[test]
fn a_refused_follow_of_disconnects_removes_the_streams_of_named_callers() {
    let mut world = bounded();
    world.crowd(319_000);
    world.open(large("b", 2_000));
    let ann = world.open(named(&["a"], "ann"));
    let unnamed = world.open(watching(&["a"]));
    world.settle();
    assert!(world.streams[ann].has_ended);
    assert!(!world.streams[unnamed].has_ended);
    assert!(world.streams[unnamed].is_acknowledged());
}

#[test]
fn a_stream_refused_with_another_may_open_again() {
    let mut world = bounded();
    world.crowd(319_000);
    world.open(large("b", 2_000));
    let second = world.open(watching(&["b"]));
    world.settle();
    assert!(world.streams[second].has_ended);
    let again = world.open(watching(&["b"]));
    world.settle();
    assert!(world.streams[again].is_acknowledged());
    world.publish(&updated("b"));
    world.settle();
    assert_eq!(cues(&world, again), 1);
}

#[test]
fn a_refused_reconnect_keeps_open_streams_until_there_is_room() {
    let mut world = bounded();
    world.open(large("b", 2_000));
    world.open(large("c", 2_000));
    world.settle();
    world.crowd(319_000);
    world.cut();
    world.pass(30_000);
    assert!(world.isolate.is_away());
    assert!(!has_room(&mut world, &watching(&["new"])));
    world.publish(&updated("a"));
    world.crowd(0);
    world.pass(600_000);
    assert!(!world.isolate.is_away());
    assert!(world.streams.iter().all(|stream| !stream.has_ended));
    assert_eq!(cues(&world, 0), 1);
    assert!(has_room(&mut world, &watching(&["new"])));
}

#[test]
fn one_more_stream_costs_what_it_adds() {
    let mut world = World::new();
    let names: Vec<String> = (0..20_000)
        .map(|number| format!("note://{number}"))
        .collect();
    for chunk in names.chunks(200) {
        world.open(watching(
            &chunk.iter().map(String::as_str).collect::<Vec<_>>(),
        ));
    }
    world.settle();
    world.calls.clear();
    world.open(watching(&["one more"]));
    world.settle();
    let bytes: usize = world
        .calls
        .iter()
        .map(|(_, call)| format!("{call:?}").len())
        .sum();
    assert!(bytes < 200, "{bytes} bytes were sent");
}

#[test]
fn an_isolate_without_room_asks_again() {
    let mut world = bounded();
    world.crowd(319_000);
    world.open(large("b", 2_000));
    world.settle();
    world.crowd(0);
    let wanted = large("c", 2_000);
    assert!(!has_room(&mut world, &wanted));
    world.settle();
    assert!(has_room(&mut world, &wanted));
    assert_eq!(world.sent(), (1, 2));
    // At most once a second, for any number of streams.
    for _ in 0..10 {
        assert!(!has_room(&mut world, &huge()));
        world.settle();
    }
    assert_eq!(world.sent().1, 2);
    world.pass(1_000);
    assert!(!has_room(&mut world, &huge()));
    world.settle();
    assert_eq!(world.sent().1, 3);
}

#[test]
fn a_moved_connection_keeps_its_room() {
    let mut world = bounded();
    for cursor in ["b", "c", "d"] {
        world.open(large(cursor, 2_000));
    }
    world.settle();
    world.move_on();
    for number in 0..600 {
        let names = if number < 200 { 5 } else { 1 };
        rival(&mut world, number, names);
    }
    world.publish(&updated("a"));
    world.pass(60_000);
    assert!(!world.isolate.is_away());
    assert!(world.streams[0].expected.is_empty());
}

#[test]
fn after_three_refusals_streams_move_to_their_own_connections() {
    let mut world = bounded();
    world.open(watching(&["a"]));
    world.settle();
    for _ in 0..2 {
        world.isolate.handle_full();
        assert!(!world.isolate.has_output());
    }
    world.isolate.handle_full();
    for stream in 0..2 {
        let Some(IsolateOutput::Moved(moved)) = world.isolate.poll_output(world.now) else {
            panic!("stream {stream} is still there");
        };
        assert_eq!(moved.since, world.isolate.cursor().cloned());
        assert!(moved.stream.is_open());
    }
    // The next stream asks the bus.
    let more = watching(&["more"]);
    assert!(has_room(&mut world, &more) && !has_room(&mut world, &more));
}

#[test]
fn a_single_stream_stays_after_any_number_of_refusals() {
    let mut world = bounded();
    for _ in 0..9 {
        world.isolate.handle_full();
    }
    assert!(!world.isolate.has_output());
}
