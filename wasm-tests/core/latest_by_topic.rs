use mcp_listen::{
    bus::{Bus, EdgeId},
    event::ServerEvent,
    position::{Cursor, Position},
    topic::Topic,
    wire::Follow,
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::follow::Publish as _;
use crate::{
    any::{any_event, any_filter, check},
    follow,
};

/// Returns what an edge that returns with `after` is sent: the events that it wants.
fn replayed<'a>(
    bus: &mut Bus,
    topics: &[Topic],
    after: Position,
    events: impl FnOnce(&Bus, EdgeId) -> Vec<(Position, &'a ServerEvent)>,
) -> Vec<String> {
    let edge = bus.connect();
    let since = Cursor {
        position: after,
        ..bus.cursor().clone()
    };
    let text = Follow::fresh(1, topics.to_vec()).since(&since).to_json();
    let mut reply = follow::accepted(bus, edge, &text);
    for (position, event) in events(bus, edge) {
        reply.push_event(bus, position, event);
    }
    reply.finish(bus)
}

fn any_topics() -> impl Strategy<Value = Vec<Topic>> {
    prop_oneof![
        4 => any_filter().prop_map(|filter| filter.topics()),
        1 => Just(vec![Topic::Everything]),
    ]
}

/// The result is the same for events that were in the log when it was read and events published
/// later, wherever the log begins.
#[test]
fn missed_events_equal_a_replay_of_the_whole_log() {
    let places = (0..40_usize, 0..40_usize, 0..40_usize);
    let case = (vec(any_event(), 1..40), any_topics(), places);
    check(case, |(log, topics, (read, trimmed, after))| {
        let end = log.len();
        let (read, trimmed) = ((read % end).max(1), trimmed % end);
        let after = trimmed.max(after % end);
        let mut bus = Bus::new(Cursor {
            epoch: "e".into(),
            position: position(read),
        });
        for (at, event) in (1..).zip(&log).take(read) {
            bus.index_event(Position(at), event);
        }
        for event in log.iter().skip(read) {
            bus.publish(event);
        }
        bus.handle_trimmed(position(trimmed));
        if !bus.is_log_indexed() {
            for (at, event) in (1..).zip(&log).skip(trimmed) {
                bus.index_event(Position(at), event);
            }
        }
        let last = position(after);
        let reported = replayed(&mut bus, &topics, last, |bus, edge| {
            let missed = bus.missed(edge, last);
            assert!(missed.is_sorted() && missed.iter().all(|at| *at > last));
            let missed = missed.into_iter();
            missed.map(|at| (at, event_at(&log, at))).collect()
        });
        let whole = replayed(&mut bus, &topics, last, |_, _| {
            (1..).map(Position).zip(&log).skip(after).collect()
        });
        assert_eq!(reported, whole);
    });
}

#[test]
fn the_cost_of_missed_events_depends_on_the_interest() {
    let mut bus = Bus::new(Cursor {
        epoch: "e".into(),
        position: Position(0),
    });
    let edge = bus.connect();
    let wants_tools = Follow::fresh(1, vec![Topic::Tools]).to_json();
    bus.handle_message(edge, &wants_tools).unwrap();
    assert!(!bus.is_log_indexed());
    assert_eq!(bus.missed(edge, Position(0)), []);
    bus.index_event(Position(0), &ServerEvent::ToolsListChanged);
    assert!(bus.is_log_indexed());
    for _ in 0..5 {
        bus.publish(&ServerEvent::PromptsListChanged);
        bus.publish(&ServerEvent::ToolsListChanged);
    }
    assert_eq!(bus.missed(edge, Position(0)), [Position(10)]);
    assert_eq!(bus.missed(edge, Position(10)), []);
    bus.handle_trimmed(Position(9));
    assert!(!bus.is_log_indexed());
}

fn position(place: usize) -> Position {
    Position(u64::try_from(place).unwrap())
}

fn event_at(log: &[ServerEvent], Position(at): Position) -> &ServerEvent {
    &log[usize::try_from(at).unwrap() - 1]
}
