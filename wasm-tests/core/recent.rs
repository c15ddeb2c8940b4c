use mcp_listen::{
    bus::{Attach, Bus, EdgeId, EdgeMessage, Interest, Mark, Position},
    event::ServerEvent,
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_event, any_filter, check};

fn attached(bus: &mut Bus, interest: &Interest) -> EdgeId {
    let edge = bus.connect();
    let attach = EdgeMessage::Attach(Attach::new(interest.clone()));
    bus.handle_message(edge, &attach.to_json()).unwrap();
    edge
}

/// The frames of a replay of these events.
fn replayed<'a>(
    bus: &mut Bus,
    edge: EdgeId,
    events: impl Iterator<Item = (Position, &'a ServerEvent)>,
) -> Vec<String> {
    let mut replay = bus.replay(edge).unwrap();
    for (position, event) in events {
        replay.push(position, event);
    }
    bus.finish_replay(edge, replay)
}

fn any_interest() -> impl Strategy<Value = Interest> {
    prop_oneof![
        4 => any_filter().prop_map(Interest::Filter),
        1 => Just(Interest::Everything),
    ]
}

/// Whether an event was in the log when it was read or was published later, and wherever the log begins now.
#[test]
fn what_was_missed_is_what_a_replay_of_the_whole_log_tells() {
    let places = (0..40_usize, 0..40_usize, 0..40_usize);
    let case = (vec(any_event(), 1..40), any_interest(), places);
    check(case, |(log, interest, (read, trimmed, after))| {
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
        let edge = attached(&mut bus, &interest);
        let last = position(after);
        let missed = bus.missed(edge, last);
        assert!(missed.is_sorted() && missed.iter().all(|at| *at > last));
        let told = missed.iter().map(|at| (*at, event_at(&log, *at)));
        let told = replayed(&mut bus, edge, told);
        let edge = attached(&mut bus, &interest);
        let whole = (1..).map(Position).zip(&log).skip(after);
        assert_eq!(told, replayed(&mut bus, edge, whole));
    });
}

#[test]
fn what_is_missed_costs_what_is_wanted() {
    let mut bus = Bus::new(Mark {
        epoch: "e".into(),
        position: Position(0),
    });
    let wants_tools = r#"{"v":1,"type":"attach","interest":{"toolsListChanged":true}}"#;
    let edge = bus.connect();
    bus.handle_message(edge, wants_tools).unwrap();
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
