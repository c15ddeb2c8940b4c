//! The life of a stream from the call of `close` to its end.

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::{EndReason, ServerStream, StreamOutput},
    message,
    scope::{Name, Scope},
    upstream::{BusCall, Timeouts},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{id, task_id, updated, uri},
    isolate::{Availability, World},
};

fn filter() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("a"), uri("b")],
        ..SubscriptionFilter::default()
    }
}

fn world_of(filter: SubscriptionFilter) -> World {
    World::of_one(filter, Timeouts::default())
}

fn cue(event: &ServerEvent) -> String {
    message::notification(&id("1"), event)
}

/// Closes the stream within a second.
fn close(world: &mut World) {
    world.end_within(Millis(1_000), EndReason::Closed);
}

fn is_result(message: &str) -> bool {
    message.contains("\"result\"")
}

#[test]
fn published_events_are_received_before_the_result() {
    let mut world = world_of(filter());
    world.publish(&updated("a"));
    world.down.clear();
    close(&mut world);
    let said = world.said();
    assert_eq!(said.len(), 2, "one cue, and not one for each topic");
    assert_eq!(said[0], cue(&updated("a")));
    assert!(is_result(&said[1]));
    assert!(world.streams[0].has_ended);
    assert_eq!(world.streams[0].ending, Some(EndReason::Closed));
}

#[test]
fn a_retiring_stream_receives_what_was_published_and_has_no_result() {
    let mut world = world_of(filter());
    world.publish(&updated("a"));
    world.down.clear();
    world.end_within(Millis(1_000), EndReason::Drained);
    assert_eq!(world.said(), [cue(&updated("a"))]);
    assert!(world.streams[0].has_ended);
    assert_eq!(world.streams[0].ending, Some(EndReason::Drained));
}

#[test]
fn a_reply_to_an_earlier_question_does_not_count() {
    let mut world = world_of(filter());
    world.publish(&updated("a"));
    world.down.clear();
    world.isolate.settle(world.now);
    world.carry_out();
    world.take_up();
    world.publish(&updated("b"));
    // The bus had replied before this was published, and the frame is lost.
    world.down.pop_back();
    close(&mut world);
    let said = world.said();
    assert_eq!(said.len(), 3);
    assert!(said.contains(&cue(&updated("b"))));
    assert!(is_result(&said[2]));
}

#[test]
fn a_stream_that_missed_nothing_closes_with_the_first_reply() {
    let mut world = world_of(filter());
    close(&mut world);
    assert_eq!(world.said().len(), 1);
    let calls = [BusCall::Ask, BusCall::Leave];
    assert_eq!(world.kinds(), calls.map(|kind| (Millis(0), kind)));
    assert!(world.streams[0].has_ended);
}

#[test]
fn an_absent_bus_delays_the_result_within_its_limit_and_everything_is_cued() {
    let mut world = world_of(filter());
    world.availability = Availability::Down;
    world.cut();
    close(&mut world);
    world.pass(999);
    assert_eq!(world.said(), [""; 0]);
    assert!(!world.streams[0].has_ended);
    world.pass(1);
    let said = world.said();
    assert_eq!(said.len(), 4);
    assert!(is_result(&said[3]));
    assert!(world.streams[0].has_ended);
}

#[test]
fn after_a_possible_loss_streams_with_tasks_or_a_principal_end_without_a_result() {
    let with_tasks = SubscriptionFilter {
        task_ids: vec![task_id("t")],
        ..filter()
    };
    let named = SubscriptionFilter {
        scope: Scope {
            principals: vec![Name::new("ada").unwrap()],
            ..Scope::default()
        },
        ..filter()
    };
    for (filter, ending) in [(with_tasks, EndReason::Lost), (named, EndReason::Denied)] {
        let mut world = world_of(filter);
        world.availability = Availability::Down;
        world.cut();
        close(&mut world);
        world.pass(1_000);
        assert!(world.streams[0].has_ended);
        assert!(!world.said().iter().any(|message| is_result(message)));
        assert_eq!(world.streams[0].ending, Some(ending));
    }
}

#[test]
fn a_closed_stream_is_frozen_and_a_retiring_one_is_not() {
    let mut stream = ServerStream::new(id("1"), filter(), Millis(0), Millis(0));
    stream.handle_attached(Millis(0));
    stream.retire(EndReason::Drained);
    assert!(!stream.is_frozen());
    stream.close();
    assert!(stream.is_frozen());
    let acknowledged = stream.poll_output(Millis(0));
    assert!(matches!(acknowledged, Some(StreamOutput::Message(_))));
    assert_eq!(stream.poll_output(Millis(0)), Some(StreamOutput::End));
    assert_eq!(stream.end_reason(), Some(EndReason::Drained));
}

#[test]
fn a_stream_given_up_during_authorization_counts_as_denied() {
    let mut stream = ServerStream::new(id("1"), filter(), Millis(0), Millis(0));
    stream.grant_for(Millis(1), Millis(0));
    stream.handle_attached(Millis(0));
    stream.handle_event(&updated("a"));
    stream.close();
    while stream.poll_output(Millis(5)).is_some() {}
    assert!(stream.poll_question().is_some());
    stream.give_up();
    assert_eq!(stream.end_reason(), Some(EndReason::Denied));
}
