//! The caller of a stream has further audiences: the stream goes on in place, and misses nothing.

use mcp_listen::{
    bus::{Interest, Received},
    clock::Millis,
    edge::BusCall,
    event::ServerEvent,
    filter::SubscriptionFilter,
    line::LineOutput,
    scope::{Label, Scope},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{task, task_id, updated};

use super::{cues, opened, stream::Stream, watching, world::World};

fn labels(names: &[&str]) -> Vec<Label> {
    names.iter().map(|name| Label::new(name).unwrap()).collect()
}

fn named(uris: &[&str], name: &str) -> SubscriptionFilter {
    SubscriptionFilter {
        scope: Scope {
            principals: labels(&[name]),
            ..Scope::default()
        },
        ..watching(uris)
    }
}

fn widen(world: &mut World, stream: usize, principals: &[&str]) {
    let now = world.now;
    let scope = Scope {
        audiences: labels(&["acme"]),
        principals: labels(principals),
        revocations: false,
    };
    world.streams[stream].edge.handle_scope(scope, now);
}

fn for_acme(event: &ServerEvent) -> ServerEvent {
    ServerEvent::ForAudience {
        audience: Label::new("acme").unwrap(),
        event: Box::new(event.clone()),
    }
}

fn has_all(world: &World) -> bool {
    let has_all = |stream: &Stream| stream.owed.is_empty() && !stream.has_ended;
    world.streams.iter().all(has_all)
}

#[test]
fn alone_on_its_line_it_misses_no_event_that_comes_meanwhile() {
    let mut world = opened(&[watching(&["a"])]);
    widen(&mut world, 0, &[]);
    world.tend();
    world.publish(&updated("a"));
    world.pass(60_000);
    assert!(has_all(&world));
    assert_eq!(world.bus.attached(), 1);
}

#[test]
fn while_the_line_is_away_it_misses_none_either() {
    let mut world = opened(&[watching(&["a"]), watching(&["a"])]);
    world.move_on();
    world.publish(&updated("a"));
    widen(&mut world, 0, &[]);
    world.pass(60_000);
    assert!(has_all(&world));
}

#[test]
fn one_with_a_name_does_not_end_where_others_have_traffic() {
    let mut world = opened(&[named(&["a"], "ann"), watching(&["b"])]);
    world.publish(&updated("b"));
    world.settle();
    widen(&mut world, 0, &["ann"]);
    world.pass(60_000);
    assert!(has_all(&world));
}

#[test]
fn what_is_for_them_comes_from_the_change_on_also_where_the_bus_is_being_asked() {
    let mut world = opened(&[watching(&["a"]), watching(&["b"])]);
    let now = world.now;
    world.streams[1].edge.handle_doubt(now);
    world.tend();
    widen(&mut world, 0, &[]);
    world.tend();
    world.publish(&for_acme(&updated("a")));
    world.publish(&updated("b"));
    world.pass(60_000);
    assert!(has_all(&world));
    assert_eq!(cues(&world, 0), 1);
}

#[test]
fn where_the_line_has_no_room_for_them_it_alone_is_lost() {
    let mut world = opened(&[watching(&["a"]), watching(&["b"])]);
    world.line.handle_full();
    widen(&mut world, 0, &[]);
    world.tend();
    let numbers = [0, 1].map(|stream| world.streams[stream].number.is_some());
    assert_eq!(numbers, [false, true]);
}

#[test]
fn a_stream_that_comes_back_to_its_line_has_missed_what_came_meanwhile() {
    let mut world = opened(&[watching(&["a"])]);
    world.line.handle_full();
    widen(&mut world, 0, &[]);
    world.tend();
    world.publish(&updated("a"));
    world.pass(60_000);
    assert!(has_all(&world));
    assert_eq!(cues(&world, 0), 1);
}

#[test]
fn a_stream_that_asks_for_nothing_new_stays_where_there_is_no_room() {
    let mut world = opened(&[watching(&["a"])]);
    let number = world.streams[0].number;
    world.line.handle_full();
    let now = world.now;
    world.streams[0].edge.handle_doubt(now);
    world.tend();
    assert_eq!(world.streams[0].number, number);
}

#[test]
fn a_stream_that_its_line_has_no_room_for_goes_on_alone_and_has_missed_nothing() {
    let mut filter = named(&["a"], "ann");
    filter.task_ids.push(task_id("t"));
    let mut world = opened(&[filter.clone(), watching(&["b"])]);
    world.publish(&updated("b"));
    world.settle();
    world.line.handle_full();
    filter.scope.audiences = labels(&["acme"]);
    let (now, number) = (world.now, world.streams[0].number.unwrap());
    world
        .line
        .attach_again(number, &Interest::Filter(filter), None, now);
    let Some(LineOutput::Lose { edge, since }) = world.line.poll_output() else {
        panic!("it stays");
    };
    let since = since.expect("a place in the log of the bus");
    assert_eq!((edge, &since), (number, world.bus.mark()));
    world.streams[0].number = None;
    world.publish(&task(r#"{"taskId":"t","status":"working"}"#));
    let stream = &mut world.streams[0].edge;
    stream.handle_parted(since, now, 0.5);
    let now = now + Millis(1_900);
    assert_eq!(stream.poll_call(now), Some(BusCall::Attach));
    let alone = world.bus.connect();
    let attach = stream.attach_message();
    let Ok(Received::Attached {
        answer,
        replay_after,
        ..
    }) = world.bus.handle_message(alone, &attach)
    else {
        panic!("not attached");
    };
    assert_eq!(replay_after.map(|position| position.0), Some(1));
    stream.handle_bus_message(&answer, now).unwrap();
    assert!(stream.stream().is_open());
    assert_eq!((stream.counts().resyncs, stream.counts().outages), (0, 0));
}
