//! The caller of a stream gets more groups: the stream continues in place and misses nothing.

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    isolate::{Isolate, IsolateOutput},
    listen::ServerStream,
    root::RootReceived,
    scope::{Name, Scope},
    upstream::{Timeouts, UpstreamCall},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{task, task_id, updated},
    follow,
};

use super::{World, cues, opened, stream::Stream, watching};

fn names(names: &[&str]) -> Vec<Name> {
    names.iter().map(|name| Name::new(name).unwrap()).collect()
}

pub(super) fn named(uris: &[&str], name: &str) -> SubscriptionFilter {
    SubscriptionFilter {
        scope: Scope {
            principals: names(&[name]),
            ..Scope::default()
        },
        ..watching(uris)
    }
}

fn widen(world: &mut World, stream: usize, principals: &[&str]) {
    let now = world.now;
    let scope = Scope {
        groups: names(&["acme"]),
        principals: names(principals),
        disconnects: false,
    };
    let stream = &mut world.streams[stream];
    stream.filter.scope = scope.clone();
    if let Some(id) = stream.id {
        world.isolate.handle_scope(id, scope, now);
    }
}

fn for_acme(event: &ServerEvent) -> ServerEvent {
    ServerEvent::ForGroup {
        group: Name::new("acme").unwrap(),
        event: Box::new(event.clone()),
    }
}

fn has_all(world: &World) -> bool {
    let has_all = |stream: &Stream| stream.expected.is_empty() && !stream.has_ended;
    world.streams.iter().all(has_all)
}

#[test]
fn a_single_stream_misses_no_event_of_its_new_groups() {
    let mut world = opened(&[watching(&["a"])]);
    widen(&mut world, 0, &[]);
    world.carry_out();
    world.publish(&updated("a"));
    world.pass(60_000);
    assert!(has_all(&world));
    assert_eq!(world.root.bus().registry().attached(), 1);
}

#[test]
fn new_groups_during_an_outage_miss_nothing() {
    let mut world = opened(&[watching(&["a"]), watching(&["a"])]);
    world.move_on();
    world.publish(&updated("a"));
    widen(&mut world, 0, &[]);
    world.pass(60_000);
    assert!(has_all(&world));
}

#[test]
fn a_named_stream_survives_traffic_of_others() {
    let mut world = opened(&[named(&["a"], "ann"), watching(&["b"])]);
    world.publish(&updated("b"));
    world.settle();
    widen(&mut world, 0, &["ann"]);
    world.pass(60_000);
    assert!(has_all(&world));
}

#[test]
fn events_of_new_groups_count_from_the_change_on() {
    let mut world = opened(&[watching(&["a"]), watching(&["b"])]);
    let now = world.now;
    world.isolate.settle(now);
    world.carry_out();
    widen(&mut world, 0, &[]);
    world.carry_out();
    world.publish(&for_acme(&updated("a")));
    world.publish(&updated("b"));
    world.pass(60_000);
    assert!(has_all(&world));
    assert_eq!(cues(&world, 0), 1);
}

#[test]
fn only_the_stream_without_room_for_its_groups_moves() {
    let mut world = opened(&[watching(&["a"]), watching(&["b"])]);
    world.isolate.handle_full();
    widen(&mut world, 0, &[]);
    world.carry_out();
    let ids = [0, 1].map(|stream| world.streams[stream].id.is_some());
    assert_eq!(ids, [false, true]);
}

#[test]
fn a_single_stream_asks_the_bus_if_no_room_is_known() {
    let mut world = opened(&[watching(&["a"])]);
    world.isolate.handle_full();
    widen(&mut world, 0, &[]);
    world.carry_out();
    world.publish(&updated("a"));
    world.publish(&for_acme(&updated("a")));
    world.pass(60_000);
    assert!(has_all(&world));
}

#[test]
fn a_moved_stream_misses_nothing() {
    let mut filter = named(&["a"], "ann");
    filter.task_ids.push(task_id("t"));
    let mut world = opened(&[filter, watching(&["b"])]);
    world.publish(&updated("b"));
    world.settle();
    world.isolate.handle_full();
    let id = world.streams[0].id.unwrap();
    let scope = Scope {
        groups: names(&["acme"]),
        principals: names(&["ann"]),
        disconnects: false,
    };
    let now = world.now;
    world.isolate.handle_scope(id, scope, now);
    let Some(IsolateOutput::Moved(moved)) = world.isolate.poll_output(now) else {
        panic!("it stays");
    };
    assert_eq!(moved.id, id);
    assert_eq!(moved.since.as_ref(), Some(world.root.bus().cursor()));
    assert_eq!(moved.stream.honored().scope.groups, names(&["acme"]));
    world.streams[0].id = None;
    let event = task(r#"{"taskId":"t","status":"working"}"#);
    world.publish(&event);

    let mut alone = Isolate::new(Timeouts::default(), Millis(0));
    let id = alone.adopt(moved.stream, moved.since, now, 0.5);
    assert_eq!(alone.poll_call(now), None);
    let now = now + Millis(1_900);
    let Some(UpstreamCall::Attach(attach)) = alone.poll_call(now) else {
        panic!("it does not attach");
    };
    let edge = world.root.bus_mut().connect();
    let received = world.root.handle_message(edge, &attach, now).unwrap();
    let RootReceived::Followed { frames, .. } = received else {
        panic!("{received:?}")
    };
    let reply = follow::attached(1, 1, 2);
    assert_eq!(frames, [reply, follow::batch(1, 2, &event)]);
    for frame in &frames {
        alone.handle_message(frame, now).unwrap();
    }
    assert!(alone.stream(id).is_some_and(ServerStream::is_open));
    let counts = alone.counts();
    assert_eq!((counts.resyncs, counts.outages), (0, 0));
}
