//! The streams of one isolate share a connection, on which each receives its topics.

mod closing;
mod fresh;
mod protocol;
mod room;
mod scope;
mod single;
mod stream;
mod together;
mod world;

use std::time::Duration;

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    fanout::StreamId,
    filter::SubscriptionFilter,
    listen::ServerStream,
    scope::{Name, Scope},
    upstream::Timeouts,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{id, task_id, updated, uri},
    follow,
};

pub(crate) use world::{Availability, World};

fn watching(uris: &[&str]) -> SubscriptionFilter {
    SubscriptionFilter {
        resource_subscriptions: uris.iter().map(|text| uri(text)).collect(),
        ..SubscriptionFilter::default()
    }
}

fn tools() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    }
}

/// An isolate with one stream for each filter, all acknowledged.
fn opened(filters: &[SubscriptionFilter]) -> World {
    let mut world = World::new();
    for filter in filters {
        world.open(filter.clone());
        world.settle();
    }
    assert!(world.streams.iter().all(stream::Stream::is_acknowledged));
    world
}

fn cues(world: &World, stream: usize) -> usize {
    world.streams[stream].written.len() - 1
}

#[test]
fn one_connection_serves_each_stream_its_topics() {
    let mut world = opened(&[watching(&["a"]), watching(&["a", "b"]), tools()]);
    assert_eq!(world.root.bus().registry().attached(), 1);
    assert_eq!(world.sent().0, 1);
    world.publish(&updated("a"));
    assert_eq!(world.down.len(), 1);
    world.settle();
    assert_eq!([0, 1, 2].map(|stream| cues(&world, stream)), [1, 1, 0]);
    world.publish(&updated("b"));
    world.publish(&ServerEvent::ToolsListChanged);
    world.settle();
    assert_eq!([0, 1, 2].map(|stream| cues(&world, stream)), [1, 2, 1]);
}

#[test]
fn streams_that_open_and_leave_at_one_instant_leave_nothing_behind() {
    let mut world = opened(&[tools()]);
    let names = world.isolate.name_bytes();
    let (sent, _) = world.sent();
    let open = |world: &mut World, number: usize| {
        let filter = watching(&[&format!("a{number}")]);
        let stream = ServerStream::new(id("1"), filter, Millis(0), world.now);
        world.isolate.open(stream, world.now)
    };
    for first in (0..MANY).step_by(TOGETHER) {
        let numbers = first..first + TOGETHER;
        let streams: Vec<StreamId> = numbers.map(|number| open(&mut world, number)).collect();
        for stream in streams {
            world.isolate.remove(stream);
        }
    }
    world.settle();
    assert_eq!(world.isolate.streams().len(), 1);
    assert_eq!(world.isolate.name_bytes(), names);
    assert_eq!(world.root.bus().registry().name_bytes(), names);
    assert_eq!(world.sent().0, sent);
    world.publish(&updated("a0"));
    world.publish(&ServerEvent::ToolsListChanged);
    world.settle();
    assert_eq!(cues(&world, 0), 1);
}

#[test]
fn a_group_event_is_written_only_to_streams_of_that_group() {
    let of = |group| SubscriptionFilter {
        scope: Scope {
            groups: vec![Name::new(group).unwrap()],
            ..Scope::default()
        },
        ..tools()
    };
    let mut world = opened(&[of("acme"), of("bolt"), of("acme"), tools()]);
    world.publish(&ServerEvent::ForGroup {
        group: Name::new("acme").unwrap(),
        event: Box::new(ServerEvent::ToolsListChanged),
    });
    assert_eq!(world.down.len(), 1);
    world.settle();
    let received = |world: &World| [0, 1, 2, 3].map(|stream| cues(world, stream));
    assert_eq!(received(&world), [1, 0, 1, 0]);
    world.publish(&ServerEvent::ToolsListChanged);
    world.settle();
    assert_eq!(received(&world), [2, 1, 2, 1]);
}

#[test]
fn a_stream_of_followed_topics_is_acknowledged_at_once() {
    let mut world = opened(&[watching(&["a", "b"])]);
    let stream = world.open(watching(&["b"]));
    world.carry_out();
    assert!(world.up.is_empty());
    assert!(world.streams[stream].is_acknowledged());
}

#[test]
fn a_stream_of_new_topics_is_acknowledged_after_the_bus_confirms() {
    let mut world = opened(&[watching(&["a"])]);
    let stream = world.open(watching(&["b"]));
    world.carry_out();
    assert!(world.up[0].contains(r#""type":"follow","seq":2,"add":["resource:b"]"#));
    assert!(!world.streams[stream].is_acknowledged());
    world.publish(&updated("b"));
    world.take_up();
    world.publish(&updated("b"));
    world.settle();
    assert!(world.streams[stream].is_acknowledged());
    // Events from before the bus follows a topic are not delivered.
    assert_eq!(cues(&world, stream), 1);
    assert_eq!(world.sent().0, 1);
}

#[test]
fn the_reply_to_another_change_is_ignored() {
    let mut world = opened(&[watching(&["a"]), watching(&["b"])]);
    let stream = world.open(watching(&["c"]));
    world.carry_out();
    world.down.push_back(follow::confirmed(1, 0));
    world.take_down();
    world.carry_out();
    assert!(!world.streams[stream].is_acknowledged());
    world.settle();
    assert!(world.streams[stream].is_acknowledged());
}

#[test]
fn an_attach_names_only_wanted_topics() {
    let mut world = opened(&[watching(&["a"]), watching(&["b"])]);
    world.leave(1);
    world.move_on();
    world.settle();
    let stream = world.open(watching(&["b"]));
    world.settle();
    world.publish(&updated("b"));
    world.settle();
    assert_eq!(cues(&world, stream), 1);
}

#[test]
fn a_change_of_topics_does_not_move_the_cursor() {
    let mut world = opened(&[watching(&["a"])]);
    world.publish(&updated("z"));
    world.open(watching(&["b"]));
    world.settle();
    world.publish(&updated("b"));
    world.pass(2_000);
    assert_eq!((world.sent().0, world.isolate.counts().gaps), (1, 0));
}

#[test]
fn streams_that_open_during_a_request_share_the_next_one() {
    let mut world = opened(&[watching(&["a"])]);
    for name in ["b", "c", "d"] {
        world.open(watching(&[name]));
        world.carry_out();
    }
    world.settle();
    assert_eq!(world.sent().1, 2);
    assert!(world.streams.iter().all(stream::Stream::is_acknowledged));
}

#[test]
fn unwanted_topics_are_dropped_after_one_event() {
    let mut world = opened(&[watching(&["a"]), watching(&["b"])]);
    world.leave(1);
    world.settle();
    assert_eq!(world.sent().1, 1);
    for _ in 0..3 {
        world.publish(&updated("b"));
        world.settle();
    }
    assert_eq!(world.sent().1, 2);
    world.publish(&updated("b"));
    assert!(world.down.is_empty());
}

#[test]
fn an_isolate_counts_each_name_once() {
    let mut world = opened(&[watching(&["a", "b"]), watching(&["b"])]);
    let names = world.isolate.name_bytes();
    world.open(watching(&["a"]));
    assert_eq!(world.isolate.name_bytes(), names);
    world.leave(0);
    assert_eq!(world.isolate.name_bytes(), names);
    world.leave(2);
    assert!(world.isolate.name_bytes() < names);
    world.leave(1);
    assert_eq!(world.isolate.name_bytes(), 0);
}

#[test]
fn without_streams_there_is_no_connection_and_no_cursor() {
    let mut world = opened(&[tools()]);
    world.leave(0);
    world.settle();
    assert!(!world.is_connected());
    assert_eq!(world.isolate.poll_timeout(), None);
    world.publish(&ServerEvent::ToolsListChanged);
    let stream = world.open(tools());
    world.settle();
    assert_eq!(cues(&world, stream), 0);
}

#[test]
fn a_moved_connection_loses_nothing_and_does_not_wait() {
    let mut world = opened(&[watching(&["a"]), tools()]);
    let stream = world.open(watching(&["b"]));
    world.carry_out();
    world.move_on();
    world.publish(&updated("a"));
    world.settle();
    assert_eq!(cues(&world, 0), 1);
    assert_eq!(cues(&world, 1), 0);
    assert!(world.streams[stream].is_acknowledged());
    assert_eq!(world.isolate.counts().healed, 0);
}

#[test]
fn streams_that_open_during_a_redirect_wait_for_the_shard() {
    let mut world = opened(&[watching(&["a"])]);
    let stream = world.open(watching(&["b"]));
    world.carry_out();
    world.send_on();
    world.settle();
    assert!(!world.streams[stream].is_acknowledged());
    world.pass(2_000);
    assert!(world.streams[stream].is_acknowledged());
    world.publish(&updated("b"));
    world.settle();
    assert_eq!(cues(&world, stream), 1);
}

#[test]
fn after_an_outage_all_streams_receive_what_they_missed() {
    let mut world = opened(&[watching(&["a"]), watching(&["a"])]);
    world.cut();
    assert!(world.isolate.is_away());
    world.publish(&updated("a"));
    world.pass(2_000);
    assert_eq!([0, 1].map(|stream| cues(&world, stream)), [1, 1]);
    assert_eq!(world.isolate.counts().healed, 1);
}

#[test]
fn a_bus_that_goes_silent_on_an_open_connection_is_an_outage() {
    let timeouts = Timeouts {
        probe_interval: Duration::from_secs(10),
        ..Timeouts::default()
    };
    let mut world = World::of_one(tools(), timeouts);
    world.availability = Availability::Silent;
    world.pass(15_000);
    assert!(world.isolate.is_away());
    world.availability = Availability::Open;
    world.pass(10_000);
    let counts = world.isolate.counts();
    assert_eq!((counts.outages, counts.healed), (1, 1));
}

#[test]
fn streams_that_open_without_a_bus_are_refused() {
    let mut world = opened(&[tools()]);
    world.availability = Availability::Down;
    world.cut();
    let stream = world.open(tools());
    world.settle();
    assert!(world.streams[stream].has_ended);
    assert!(!world.streams[0].has_ended);
}

#[test]
fn a_stream_opened_during_a_handover_is_served_by_the_next_connection() {
    let mut world = opened(&[tools()]);
    let stream = world.open(watching(&["b"]));
    world.carry_out();
    // The end of the socket is reported before the end of the request.
    world.cut();
    world.move_on();
    world.settle();
    assert!(world.streams[stream].is_acknowledged());
    world.publish(&updated("b"));
    world.settle();
    assert_eq!(cues(&world, stream), 1);
}

#[test]
fn a_stream_opened_at_a_loss_waits_for_one_more_attempt() {
    let mut world = opened(&[tools()]);
    let stream = world.open(watching(&["b"]));
    world.carry_out();
    world.availability = Availability::Down;
    world.cut();
    world.settle();
    assert!(!world.streams[stream].has_ended);
    world.pass(2_000);
    assert!(world.streams[stream].has_ended);
    assert!(!world.streams[0].has_ended);
}

#[test]
fn a_change_without_a_reply_is_repeated() {
    let mut world = opened(&[watching(&["a"])]);
    let stream = world.open(watching(&["b"]));
    world.carry_out();
    world.up.clear();
    world.pass(7_000);
    assert!(world.streams[stream].is_acknowledged());
    assert_eq!(world.sent().0, 2);
}

#[test]
fn after_the_loss_of_the_log_streams_stay_and_cue_everything() {
    let tasks = SubscriptionFilter {
        task_ids: vec![task_id("t")],
        ..tools()
    };
    let mut world = opened(&[watching(&["a"]), watching(&["a", "b"]), tools(), tasks]);
    let ids = [0, 1, 2].map(|stream| world.streams[stream].id);
    world.start_over();
    world.pass(60_000);
    assert_eq!([0, 1, 2].map(|stream| world.streams[stream].id), ids);
    assert_eq!([0, 1, 2].map(|stream| cues(&world, stream)), [1, 2, 1]);
    // States of tasks cannot be recovered: the client listens again and reads them.
    let ended = world.streams.iter().map(|stream| stream.has_ended);
    assert_eq!(ended.collect::<Vec<_>>(), [false, false, false, true]);
    let counts = world.isolate.counts();
    assert_eq!((counts.outages, counts.gaps, counts.resyncs), (1, 0, 1));
    world.publish(&updated("b"));
    world.settle();
    assert_eq!([0, 1, 2].map(|stream| cues(&world, stream)), [1, 3, 1]);
}

/// The number of streams that open and leave at one instant.
const MANY: usize = 100_000;
/// The number of them that are open together.
const TOGETHER: usize = 100;
