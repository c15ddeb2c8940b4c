use mcp_listen::{
    bus::{Bus, EdgeId, Mark, Position},
    event::ServerEvent,
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

/// What an edge that comes back from `after` is sent: of these events what it wants.
fn replayed<'a>(
    bus: &mut Bus,
    topics: &[Topic],
    after: Position,
    events: impl FnOnce(&Bus, EdgeId) -> Vec<(Position, &'a ServerEvent)>,
) -> Vec<String> {
    let edge = bus.connect();
    let since = Mark {
        position: after,
        ..bus.mark().clone()
    };
    let text = Follow::fresh(1, topics.to_vec()).since(&since).to_json();
    let mut reply = follow::taken(bus, edge, &text);
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

/// Whether an event was in the log when it was read or was published later, and wherever the log
/// begins now.
#[test]
fn what_was_missed_is_what_a_replay_of_the_whole_log_tells() {
    let places = (0..40_usize, 0..40_usize, 0..40_usize);
    let case = (vec(any_event(), 1..40), any_topics(), places);
    check(case, |(log, topics, (read, trimmed, after))| {
        let end = log.len();
        let (read, trimmed) = ((read % end).max(1), trimmed % end);
        let after = trimmed.max(after % end);
        let mut bus = Bus::new(Mark {
            epoch: "e".into(),
            position: position(read),
        });
        for (at, event) in (1..).zip(&log).take(read) {
            bus.recall(Position(at), event);
        }
        for event in log.iter().skip(read) {
            bus.publish(event);
        }
        bus.handle_trimmed(position(trimmed));
        if !bus.recalls() {
            for (at, event) in (1..).zip(&log).skip(trimmed) {
                bus.recall(Position(at), event);
            }
        }
        let last = position(after);
        let told = replayed(&mut bus, &topics, last, |bus, edge| {
            let missed = bus.missed(edge, last);
            assert!(missed.is_sorted() && missed.iter().all(|at| *at > last));
            let missed = missed.into_iter();
            missed.map(|at| (at, event_at(&log, at))).collect()
        });
        let whole = replayed(&mut bus, &topics, last, |_, _| {
            (1..).map(Position).zip(&log).skip(after).collect()
        });
        assert_eq!(told, whole);
    });
}

#[test]
fn what_is_missed_costs_what_is_wanted() {
    let mut bus = Bus::new(Mark {
        epoch: "e".into(),
        position: Position(0),
    });
    let edge = bus.connect();
    let wants_tools = Follow::fresh(1, vec![Topic::Tools]).to_json();
    bus.handle_message(edge, &wants_tools).unwrap();
    assert!(!bus.recalls());
    assert_eq!(bus.missed(edge, Position(0)), []);
    bus.recall(Position(0), &ServerEvent::ToolsListChanged);
    assert!(bus.recalls());
    for _ in 0..5 {
        bus.publish(&ServerEvent::PromptsListChanged);
        bus.publish(&ServerEvent::ToolsListChanged);
    }
    assert_eq!(bus.missed(edge, Position(0)), [Position(10)]);
    assert_eq!(bus.missed(edge, Position(10)), []);
    bus.handle_trimmed(Position(9));
    assert!(!bus.recalls());
}

fn position(place: usize) -> Position {
    Position(u64::try_from(place).unwrap())
}

fn event_at(log: &[ServerEvent], Position(at): Position) -> &ServerEvent {
    &log[usize::try_from(at).unwrap() - 1]
}
